import type { UseQueryResult } from "@tanstack/solid-query";
import { For, type JSX, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { classes } from "../../design/classes.ts";
import { Figure } from "../../design/layout.tsx";
import { nowSec } from "../../design/now.ts";
import { Loaded } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { credits, dollars, exactCredits } from "../../format/money.ts";
import { compact, count, delta, duration, share } from "../../format/numbers.ts";
import { lengthOf, rangeBefore, type TimeRange } from "../../shell/range.ts";
import { forecastOf } from "./forecast.ts";
import styles from "./overview.module.css";
import type { Percentiles, Totals, Usage } from "./types.ts";
import { forecastQuery, queueQuery, refusalsQuery, totalsBeforeQuery } from "./reads.ts";

const NOTHING: Totals = {
  requests: 0,
  failed: 0,
  input_tokens: 0,
  output_tokens: 0,
  credit: 0,
  latency_ms: null,
  first_byte_ms: null,
};

/** How many tasks there are now. */
interface Queue {
  readonly running: number;
  readonly pending: number;
}

type Read<Row> = UseQueryResult<{ readonly data: readonly Row[] }>;

/** What a range comes to, each figure beside that of the period before. All is asked for at once. */
export function OverviewFigures(props: { readonly range: TimeRange; readonly usage: Read<Totals> }) {
  const before = useQuery(() => totalsBeforeQuery(props.range));
  const days = useQuery(() => forecastQuery(nowSec()));
  const refusals = useQuery(() => refusalsQuery(props.range, "all"));
  const status = useQuery(() => queueQuery);
  const earlier = (): Totals | undefined => {
    const read = before.data;
    return read === undefined ? undefined : (read.data[0] ?? NOTHING);
  };
  return (
    <Loaded of={props.usage} skeleton={<FigureSkeletons />}>
      {(read) => (
        <Shown
          range={props.range}
          now={read().data[0] ?? NOTHING}
          before={earlier()}
          days={days.data?.data}
          refused={refusals.data?.data.reduce((total, row) => total + row.count, 0)}
          queue={status.data?.queue}
        />
      )}
    </Loaded>
  );
}

function Shown(props: {
  readonly range: TimeRange;
  readonly now: Totals;
  readonly before: Totals | undefined;
  /** The usage of each day so far that the forecast is made from. */
  readonly days: readonly Usage<"credit">[] | undefined;
  /** How many were refused in the range. */
  readonly refused: number | undefined;
  readonly queue: Queue | undefined;
}) {
  const tokens = ({ input_tokens, output_tokens }: Totals): number => input_tokens + output_tokens;
  // The period before may be longer by a part of an hour.
  const asLong = (total: number): number =>
    (total * lengthOf(props.range)) / lengthOf(rangeBefore(props.range));
  const changeOf = (measure: (totals: Totals) => number) => (
    <Change now={measure(props.now)} before={props.before && asLong(measure(props.before))} />
  );
  return (
    <div class={styles.figures}>
      <div class={styles.wide}>
        <Figure
          name="Spend"
          value={<Credits amount={props.now.credit} />}
          note={
            <Note>
              <span>{dollars(props.now.credit)}</span>
              {changeOf(({ credit }) => credit)}
            </Note>
          }
        />
      </div>
      <div class={styles.wide}>
        <ForecastFigure days={props.days} />
      </div>
      <Figure
        name="Requests"
        value={count(props.now.requests)}
        note={<Note>{changeOf(({ requests }) => requests)}</Note>}
      />
      <Figure
        name="Tokens"
        value={compact(tokens(props.now))}
        note={
          <Note>
            <span>{compact(props.now.input_tokens)} in</span>
            <span>{compact(props.now.output_tokens)} out</span>
            {changeOf(tokens)}
          </Note>
        }
      />
      <Figure
        name="Error rate"
        value={share(props.now.failed, props.now.requests)}
        note={<Faults now={props.now} before={props.before} refused={props.refused} />}
      />
      <DurationFigure name="Latency" now={props.now.latency_ms} before={props.before?.latency_ms} />
      <DurationFigure name="First token" now={props.now.first_byte_ms} before={props.before?.first_byte_ms} />
      <QueueFigure queue={props.queue} />
    </div>
  );
}

function Note(props: { readonly children: JSX.Element }) {
  return <span class={styles.note}>{props.children}</span>;
}

function Credits(props: { readonly amount: number }) {
  return (
    <span title={`${exactCredits(props.amount)} credits`}>
      {credits(props.amount)} <span class={styles.unit}>cr</span>
    </span>
  );
}

/** How far a figure is from that of the period before. */
function Change(props: { readonly now: number | undefined; readonly before: number | undefined }) {
  const text = (): string | undefined =>
    props.now === undefined || props.before === undefined ? undefined : delta(props.now, props.before);
  return (
    <Show when={text()}>
      {(shown) => (
        <span title="Compared with the period of the same length before">
          {shown()}
          <span class="visually-hidden"> on the period before</span>
        </span>
      )}
    </Show>
  );
}

function ForecastFigure(props: { readonly days: readonly Usage<"credit">[] | undefined }) {
  const forecast = () => forecastOf(props.days ?? [], nowSec());
  return (
    <Figure
      name={`Forecast for ${forecast().month}`}
      value={
        <Show when={props.days} fallback="–">
          <Credits amount={forecast().total} />
        </Show>
      }
      note={
        <Note>
          <span>{dollars(forecast().total)}</span>
          <span>{credits(forecast().spent)} cr so far</span>
        </Note>
      }
    />
  );
}

function Faults(props: {
  readonly now: Totals;
  readonly before: Totals | undefined;
  readonly refused: number | undefined;
}) {
  return (
    <Note>
      <span>{count(props.now.failed)} failed</span>
      <Show when={props.refused !== undefined}>
        <span title="Refused before anything was held for them; not part of the rate">
          {count(props.refused ?? 0)} refused
        </span>
      </Show>
      <Show when={props.before?.requests}>
        <span>{share(props.before?.failed ?? 0, props.before?.requests ?? 0)} before</span>
      </Show>
    </Note>
  );
}

function DurationFigure(props: {
  readonly name: string;
  readonly now: Percentiles | null;
  readonly before: Percentiles | null | undefined;
}) {
  return (
    <Figure
      name={`${props.name}, p50`}
      value={props.now === null ? "–" : duration(props.now.p50)}
      note={
        <Note>
          <Show when={props.now} fallback="Nothing was measured">
            {(now) => <span>p95 {duration(now().p95)}</span>}
          </Show>
          <Show when={props.before}>{(before) => <Change now={props.now?.p50} before={before().p50} />}</Show>
        </Note>
      }
    />
  );
}

function QueueFigure(props: { readonly queue: Queue | undefined }) {
  return (
    <Figure
      name="Tasks running"
      value={props.queue === undefined ? "–" : count(props.queue.running)}
      note={<Note>{props.queue === undefined ? "" : `${count(props.queue.pending)} waiting`}</Note>}
    />
  );
}

function FigureSkeletons() {
  return (
    <div class={styles.figures} aria-hidden="true">
      <For each={Array.from({ length: 8 })}>
        {(_, at) => <span class={classes(ui.skeleton, styles.figureSkeleton, at() < 2 && styles.wide)} />}
      </For>
    </div>
  );
}
