import { useNavigate, useSearch } from "@tanstack/solid-router";
import { createMemo, For, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { ExportButton } from "../../design/export-button.tsx";
import { SelectField, TextField } from "../../design/field.tsx";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded, Skeleton } from "../../design/states.tsx";
import { type Column, DataTable } from "../../design/table.tsx";
import ui from "../../design/ui.module.css";
import { Time } from "../../design/values.tsx";
import { count, duration, share } from "../../format/numbers.ts";
import { WordBadge } from "../../lists/parts.tsx";
import { RowLink } from "../../lists/row-link.tsx";
import { ROUTE_WORDS } from "../../words/words.ts";
import styles from "./health.module.css";
import { ShowAll, useFold } from "./fold.tsx";
import { routesQuery } from "./reads.ts";
import { chosenRoutes, type Route, timesOf } from "./routes.ts";
import { type HealthSearch, ROUTE_STATES } from "./search.ts";

/** So many are shown before the reader asks for all: those in trouble stand first. */
const FIRST = 15;

const COLUMNS: readonly Column<Route>[] = [
  {
    title: "Model",
    order: "model",
    cell: ({ model }) => (
      <RowLink to="/models/$id" id={model} class={ui.modelId} title={model}>
        {model}
      </RowLink>
    ),
    text: ({ model }) => model,
  },
  {
    title: "Provider",
    order: "provider",
    cell: (route) => (
      <span>
        {route.provider}{" "}
        <Show when={route.credential}>
          <code class={ui.soft}>{route.credential}</code>
        </Show>
      </span>
    ),
    text: ({ provider, credential }) => (credential === null ? provider : `${provider} ${credential}`),
  },
  {
    title: "State",
    order: "state",
    cell: (route) => (
      <span>
        <WordBadge words={ROUTE_WORDS[route.state]} />{" "}
        <Show when={route.until}>
          <span class={ui.soft}>
            again <Time at={route.until} />
          </span>
        </Show>
      </span>
    ),
    text: ({ state }) => state,
  },
  {
    title: "Calls",
    order: "calls",
    isNumber: true,
    cell: (route) => count(route.calls),
    text: ({ calls }) => calls,
  },
  {
    title: "Failed",
    order: "failed",
    isNumber: true,
    cell: (route) => (
      <span>
        {count(route.failed)}{" "}
        <Show when={route.failed > 0}>
          <span class={ui.soft}>{share(route.failed, route.calls)}</span>
        </Show>
      </span>
    ),
    text: ({ failed }) => failed,
  },
  {
    title: "First content",
    fold: 1,
    order: "latency",
    isNumber: true,
    cell: (route) => <Took time={timesOf(route).first} />,
    text: (route) => timesOf(route).first,
  },
  {
    title: "Whole answer",
    fold: 2,
    order: "whole",
    isNumber: true,
    cell: (route) => <Took time={timesOf(route).whole} />,
    text: (route) => timesOf(route).whole,
  },
  {
    title: "Last failure",
    cell: (route) => (
      <Show when={route.last_failure} fallback={<span class={ui.soft}>–</span>}>
        {(failure) => (
          <span>
            {failure().reason} {failure().status ?? ""} <Time at={failure().at} />
          </span>
        )}
      </Show>
    ),
    text: ({ last_failure }) =>
      last_failure === null ? null : `${last_failure.reason} ${last_failure.status ?? ""}`,
  },
];

/** Milliseconds, or why there are none. */
function Took(props: { readonly time: number | string }) {
  return (
    <Show when={typeof props.time === "number"} fallback={<span class={ui.soft}>{props.time}</span>}>
      {duration(Number(props.time))}
    </Show>
  );
}

/** What a page of one model shows of its routes. */
export const ROUTE_COLUMNS = COLUMNS.filter(({ order }) => order !== "model");

/** Every way to a model, and how its breaker stands. */
export function RoutesPanel() {
  const routes = useQuery(() => ({ ...routesQuery, reconcile: "id" }));
  const search = useSearch({ from: "/health" });
  const navigate = useNavigate({ from: "/health" });
  const change = (next: HealthSearch): void =>
    void navigate({
      search: (before: HealthSearch) => ({ ...before, ...next }),
      replace: true,
      resetScroll: false,
    });
  const rows = createMemo(() => chosenRoutes(routes.data ?? [], search()));
  const { isFolded, unfold } = useFold("all");
  const isFiltered = (): boolean =>
    [search().model, search().state, search().provider].some((value) => value !== undefined);
  /** On a phone those in trouble alone, until the reader looks for others. */
  const isTroubleOnly = (): boolean => isFolded() && !isFiltered();
  const shown = (): readonly Route[] => {
    if (search().all === true) return rows();
    return rows()
      .filter(({ state }) => !isTroubleOnly() || state !== "healthy")
      .slice(0, FIRST);
  };
  const providers = () => [...new Set(routes.data?.map(({ provider }) => provider))].toSorted();
  return (
    <Panel
      flush
      title="Routes and breakers"
      actions={
        <div class={ui.actions}>
          <span class={ui.hint}>as the process that answered has learned it since its start</span>
          <ExportButton name="routes" columns={COLUMNS} rows={rows()} />
        </div>
      }
    >
      <div class={styles.filters}>
        <TextField
          label="Model"
          type="search"
          placeholder="any"
          value={search().model ?? ""}
          onInput={(event) => change({ model: event.currentTarget.value || undefined })}
        />
        <SelectField
          label="State"
          value={search().state ?? ""}
          onChange={(event) =>
            change({ state: ROUTE_STATES.find((state) => state === event.currentTarget.value) })
          }
        >
          <option value="">any</option>
          <For each={ROUTE_STATES}>{(state) => <option value={state}>{ROUTE_WORDS[state].name}</option>}</For>
        </SelectField>
        <SelectField
          label="Provider"
          value={search().provider ?? ""}
          onChange={(event) => change({ provider: event.currentTarget.value || undefined })}
        >
          <option value="">any</option>
          <For each={providers()}>{(provider) => <option value={provider}>{provider}</option>}</For>
        </SelectField>
      </div>
      <Loaded
        of={routes}
        skeleton={
          <div class={styles.pad}>
            <Skeleton lines={8} />
          </div>
        }
      >
        {(read) => (
          <DataTable
            label="Routes and breakers"
            columns={COLUMNS}
            rows={shown()}
            ordering={{ by: search().order ?? "state", change: (order) => change({ order }) }}
            empty={
              <Show when={rows().length === 0}>
                <Empty title={read().length === 0 ? "No model is served" : "No route is like that"}>
                  <p>
                    {read().length === 0
                      ? "Give the gateway a provider's key, or start it with SWITCHYARD_SANDBOX=on."
                      : "Other filters may find it."}
                  </p>
                </Empty>
              </Show>
            }
          />
        )}
      </Loaded>
      <ShowAll
        shown={shown().length}
        all={rows().length}
        noun="route"
        says={isTroubleOnly() ? (shown().length === 0 ? "All are healthy." : "The others are healthy.") : ""}
        onShow={unfold}
      />
    </Panel>
  );
}
