import type { Series } from "../../design/chart.tsx";
import { coloursOf, MOST_COLOURS, MOST_SERIES, REST } from "../../design/series.ts";
import { type Step, STEP_SEC, type TimeRange, wholeSteps } from "../../shell/range.ts";

/** When each step of a range begins. */
export function stepsOf(range: TimeRange, step: Step): readonly number[] {
  const { from, to } = wholeSteps(range, step);
  const length = Math.max(0, Math.ceil((to - from) / STEP_SEC[step]));
  return Array.from({ length }, (_, at) => from + at * STEP_SEC[step]);
}

/** A measure of a group in a step. */
export interface Point {
  readonly time: number;
  readonly group: string | null;
  readonly value: number;
}

/** Gives series of models their colours, which the browser keeps, so that each has one on all pages. */
export function colouredModels(series: readonly Series[]): readonly Series[] {
  const colours = coloursOf(
    series.map(({ name }) => name),
    MOST_COLOURS,
    localStorage,
  );
  return series.map((one) => ({ ...one, colour: colours.get(one.name) ?? "" }));
}

/** A series for each group, the largest first; groups that have no colour of their own are one, the last. */
export function groupSeries(points: readonly Point[], times: readonly number[]): readonly Series[] {
  const totals = new Map<string, number>();
  for (const { group, value } of points) totals.set(nameOf(group), (totals.get(nameOf(group)) ?? 0) + value);
  const ranked = [...totals].sort(([, a], [, b]) => b - a).map(([name]) => name);
  const own = ranked.length > MOST_SERIES ? ranked.slice(0, MOST_SERIES - 1) : ranked;
  const places = new Map(times.map((time, at) => [time, at]));
  const values = new Map([...own, ...(own.length < ranked.length ? [REST] : [])].map(empty));
  for (const { time, group, value } of points) {
    const row = values.get(nameOf(group)) ?? values.get(REST);
    const at = places.get(time);
    if (row !== undefined && at !== undefined) row[at] = (row[at] ?? 0) + value;
  }
  return [...values].map(([name, series]) => ({ name, values: series }));

  function empty(name: string): [string, number[]] {
    return [name, times.map(() => 0)];
  }
}

/** One value for each step: that of its row, or `absent` where there is no row. */
export function lineOf<Row extends { readonly time: number }, Absent extends number | null>(
  rows: readonly Row[],
  times: readonly number[],
  measure: (row: Row) => number | null | undefined,
  absent: Absent,
): readonly (number | Absent)[] {
  const byTime = new Map(rows.map((row) => [row.time, measure(row) ?? absent]));
  return times.map((time) => byTime.get(time) ?? absent);
}

function nameOf(group: string | null): string {
  return group ?? "without a name";
}
