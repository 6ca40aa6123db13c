import { useQueryClient } from "@tanstack/solid-query";
import { Link, useNavigate, useRouter } from "@tanstack/solid-router";
import { createEffect, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { NotCurrent } from "../../lists/parts.tsx";
import { Columns, Page } from "../../design/layout.tsx";
import { createFailure, Failure } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { intervalOf } from "../../shell/range.ts";
import { useRange } from "../../shell/use-range.ts";
import { LatencyChart, RequestsChart, SpendChart, TroubleChart } from "./chart-panels.tsx";
import { OverviewFigures } from "./figures.tsx";
import styles from "./overview.module.css";
import { newestQuery, totalsQuery } from "./reads.ts";
import { RoutesPanel, TasksPanel } from "./state-panels.tsx";
import { TopPanel } from "./top-panel.tsx";

/** A reader is led to the welcome once a visit; the next click on the rail shows this page, empty as it is. */
let isWelcomed = false;

/** Is all well, and what does it cost? */
export function Overview() {
  const { range, zoom } = useRange();
  const step = () => intervalOf(range());
  const navigate = useNavigate();
  const router = useRouter();
  const queries = useQueryClient();
  const newest = useQuery(() => newestQuery);
  const isUnused = (): boolean => newest.data?.data.length === 0;
  const figures = useQuery(() => totalsQuery(range()));
  const failure = createFailure(() => figures);
  createEffect(() => {
    if (!isUnused() || isWelcomed) return;
    // A reader who is on the way to another page is left alone.
    if (!router.latestLocation.pathname.endsWith("/overview")) return;
    isWelcomed = true;
    void navigate({ to: "/welcome", replace: true });
  });
  return (
    <Page
      title="Overview"
      aside={
        <>
          <span class={ui.hint}>Percentages compare with the period of the same length before.</span>
          <NotCurrent of={figures} />
          <Show when={isUnused()}>
            <Link to="/welcome">Make the first call</Link>
          </Show>
        </>
      }
    >
      <Show
        when={failure()}
        fallback={
          <>
            <OverviewFigures range={range()} usage={figures} />
            <Columns>
              <SpendChart range={range()} step={step()} zoom={zoom} />
              <RequestsChart range={range()} step={step()} zoom={zoom} />
              <LatencyChart range={range()} step={step()} zoom={zoom} />
              <TroubleChart range={range()} step={step()} zoom={zoom} />
              <TasksPanel range={range()} />
              <RoutesPanel />
            </Columns>
            <div class={styles.thirds}>
              <TopPanel title="Top models" range={range()} by="model" />
              <TopPanel title="Top accounts" range={range()} by="account" />
              <TopPanel title="Top keys" range={range()} by="key" />
            </div>
          </>
        }
      >
        {(error) => <Failure error={error()} retry={() => void queries.refetchQueries({ type: "active" })} />}
      </Show>
    </Page>
  );
}
