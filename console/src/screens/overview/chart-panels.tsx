import { createMemo, type JSX, Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { type Series, TimeChart } from "../../design/chart.tsx";
import type { Heat } from "../../design/heat.ts";
import { Panel } from "../../design/layout.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import ui from "../../design/ui.module.css";
import { classes } from "../../design/classes.ts";
import { axisCredits, credits } from "../../format/money.ts";
import { axisDuration, compact, duration } from "../../format/numbers.ts";
import type { Step, TimeRange } from "../../shell/range.ts";
import { colouredModels, groupSeries, lineOf, stepsOf } from "./charts.ts";
import styles from "./overview.module.css";
import type { Usage, UsageOf } from "./types.ts";
import { allStepsQuery, modelStepsQuery, refusalsQuery } from "./reads.ts";

interface ChartProps {
  readonly range: TimeRange;
  readonly step: Step;
  readonly zoom: (from: number, to: number) => void;
  /** Whose usage is shown; absent: all. */
  readonly whose?: UsageOf;
}

/** What is spent in each step, by model. */
export function SpendChart(props: ChartProps) {
  return (
    <ModelChart
      {...props}
      title="Spend by model, credits"
      measure={({ credit }) => credit}
      format={credits}
      axisFormat={axisCredits}
    />
  );
}

/** How many requests end in each step, by model. */
export function RequestsChart(props: ChartProps) {
  return (
    <ModelChart {...props} title="Requests by model" measure={({ requests }) => requests} format={compact} />
  );
}

function ModelChart(
  props: ChartProps & {
    readonly title: string;
    readonly measure: (row: Usage<"requests" | "credit">) => number;
    readonly format: (value: number) => string;
    readonly axisFormat?: (value: number) => string;
  },
) {
  const usage = useQuery(() => modelStepsQuery(props));
  const times = createMemo(() => stepsOf(props.range, props.step));
  const series = createMemo(() => {
    const points = (usage.data?.data ?? []).map((row) => ({
      time: row.time,
      group: row.group,
      value: props.measure(row),
    }));
    return colouredModels(groupSeries(points, times()));
  });
  return (
    <ChartPanel {...props} of={usage} series={series()} isStacked>
      The chart shows which models were called.
    </ChartPanel>
  );
}

/** How long requests take, in all and until their first token. */
export function LatencyChart(props: ChartProps) {
  const usage = useQuery(() => allStepsQuery(props));
  const times = createMemo(() => stepsOf(props.range, props.step));
  const series = createMemo((): readonly Series[] => {
    const rows = usage.data?.data ?? [];
    if (rows.every(({ latency_ms, first_byte_ms }) => latency_ms === null && first_byte_ms === null))
      return [];
    const line = (measure: (row: (typeof rows)[number]) => number | undefined) =>
      lineOf(rows, times(), measure, null);
    return [
      { name: "p95", colour: "var(--series-3)", values: line(({ latency_ms }) => latency_ms?.p95) },
      { name: "p50", colour: "var(--series-1)", values: line(({ latency_ms }) => latency_ms?.p50) },
      {
        name: "first token p95",
        colour: "var(--series-4)",
        values: line(({ first_byte_ms }) => first_byte_ms?.p95),
      },
      {
        name: "first token p50",
        colour: "var(--series-2)",
        values: line(({ first_byte_ms }) => first_byte_ms?.p50),
      },
    ];
  });
  const heat = createMemo((): Heat => {
    const rows = new Map((usage.data?.data ?? []).map(({ time, latency_spread }) => [time, latency_spread]));
    return times().map((time) =>
      (rows.get(time) ?? []).map(({ below_ms, requests }) => ({ below: below_ms, count: requests })),
    );
  });
  return (
    <ChartPanel
      {...props}
      title="Latency"
      of={usage}
      series={series()}
      heat={{ cells: heat(), of: "completed requests" }}
      format={duration}
      axisFormat={axisDuration}
    >
      The chart shows how long answers took, and their first tokens.
    </ChartPanel>
  );
}

/** How many requests fail in each step, and how many are refused before anything is held for them. */
export function TroubleChart(props: ChartProps) {
  const usage = useQuery(() => allStepsQuery(props));
  const refusals = useQuery(() => refusalsQuery(props.range, props.step));
  const times = createMemo(() => stepsOf(props.range, props.step));
  const series = createMemo((): readonly Series[] => {
    const failed = lineOf(usage.data?.data ?? [], times(), (row) => row.failed, 0);
    const refused = lineOf(refusals.data?.data ?? [], times(), (row) => row.count, 0);
    if ([...failed, ...refused].every((value) => value === 0)) return [];
    return [
      { name: "failed", colour: "var(--bad)", values: failed },
      { name: "refused", colour: "var(--warn)", values: refused },
    ];
  });
  return (
    <ChartPanel
      {...props}
      title="Failed and refused requests"
      of={refusals.data === undefined ? refusals : usage}
      series={series()}
      format={compact}
    >
      No request failed, and none was refused.
    </ChartPanel>
  );
}

function ChartPanel(
  props: ChartProps & {
    readonly title: string;
    readonly of: Parameters<typeof Loaded>[0]["of"];
    readonly series: readonly Series[];
    readonly isStacked?: boolean;
    readonly heat?: { readonly cells: Heat; readonly of: string };
    readonly format: (value: number) => string;
    readonly axisFormat?: (value: number) => string;
    readonly children: JSX.Element;
  },
) {
  return (
    <Panel title={props.title} actions={<span class={ui.hint}>by the {props.step}</span>}>
      <Loaded
        of={props.of}
        skeleton={<div class={classes(ui.skeleton, styles.chartSkeleton)} aria-hidden="true" />}
      >
        {() => (
          // `Loaded` calls this once, so a condition outside an element would not follow the data.
          <Show
            when={props.series.length > 0}
            fallback={
              <Empty title="Nothing in this range">
                <p>{props.children}</p>
              </Empty>
            }
          >
            <TimeChart
              label={props.title}
              times={stepsOf(props.range, props.step)}
              series={props.series}
              stacked={props.isStacked === true}
              format={props.format}
              {...(props.heat === undefined ? {} : { heat: props.heat })}
              {...(props.axisFormat === undefined ? {} : { axisFormat: props.axisFormat })}
              onZoom={props.zoom}
            />
          </Show>
        )}
      </Loaded>
    </Panel>
  );
}
