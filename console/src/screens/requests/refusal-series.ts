import { MOST_SERIES, REST } from "../../design/series.ts";
import type { Series } from "../../design/chart.tsx";
import type { RefusalCount } from "./types.ts";

/** Counts of refusals as a chart draws them: each interval of the range, and the largest groups as series of their own. */
export function refusalSeries(
  counts: readonly RefusalCount[],
  { from, to }: { readonly from: number; readonly to: number },
  stepSec: number,
  nameOf: (group: string | null) => string,
): { readonly times: readonly number[]; readonly series: readonly Series[] } {
  const first = Math.floor(from / stepSec) * stepSec;
  const times = Array.from(
    { length: Math.max(1, Math.ceil((to - first) / stepSec)) },
    (_, i) => first + i * stepSec,
  );
  const sums = new Map<string, number>();
  for (const { group, count } of counts) sums.set(nameOf(group), (sums.get(nameOf(group)) ?? 0) + count);
  const largest = [...sums].toSorted(([, one], [, other]) => other - one).map(([name]) => name);
  const shown = largest.slice(0, largest.length > MOST_SERIES ? MOST_SERIES - 1 : MOST_SERIES);
  const names = shown.length < largest.length ? [...shown, REST] : shown;
  const values = new Map(names.map((name) => [name, times.map(() => 0)]));
  for (const { time, group, count } of counts) {
    const line = values.get(shown.includes(nameOf(group)) ? nameOf(group) : REST);
    const at = Math.floor((time - first) / stepSec);
    if (line?.[at] !== undefined) line[at] += count;
  }
  return { times, series: [...values].map(([name, line]) => ({ name, values: line })) };
}
