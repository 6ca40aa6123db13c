import { hashKey, queryOptions } from "@tanstack/solid-query";
import { read } from "../../api/client.ts";
import { whole } from "../../api/whole.ts";
import {
  FIVE_MINUTES,
  intervalOf,
  lengthOf,
  rangeBefore,
  type Step,
  STEP_SEC,
  type TimeRange,
  wholeSteps,
} from "../../shell/range.ts";
import { forecastFrom } from "./forecast.ts";
import { type Figure, TOTALS, type Usage, type UsageOf, type UsageQuery } from "./types.ts";

/** How often what is live is read anew while the page is visible. */
export const LIVE_MS = 5_000;
/** How often charts are: less often where they have many rows. */
export const CHART_MS = { hour: 15_000, day: 60_000, week: 60_000 } as const;

/** A query whose key ends with it. */
interface RangeQuery extends TimeRange {
  readonly interval?: Step | "all";
}

/**
 * Placeholder data of a live query: its rows from before its range moved on with the clock. Rows of another range or
 * another query would stand under the wrong title, and rows of hours do not fit the steps of days.
 */
export function keepRows(query: RangeQuery) {
  const restOf = (of: RangeQuery): string => hashKey([{ ...of, from: 0, to: 0 }]);
  return <Rows>(
    rows: Rows | undefined,
    last?: { readonly queryKey: readonly unknown[] },
  ): Rows | undefined => {
    const before = last?.queryKey.at(-1) as RangeQuery | undefined;
    if (before === undefined || restOf(before) !== restOf(query)) return undefined;
    const moved = Math.max(Math.abs(query.from - before.from), Math.abs(query.to - before.to));
    return moved <= mostMoved(query) ? rows : undefined;
  };
}

/** How far the ends of a named range move at once, in seconds. */
function mostMoved({ interval = "all", ...range }: RangeQuery): number {
  if (interval !== "all") return STEP_SEC[interval];
  // The period before a named range begins with an hour, that before the last hour with five minutes. So it begins up
  // to twice as much later than it began a minute ago.
  return lengthOf(range) < 2 * STEP_SEC.hour
    ? 2 * FIVE_MINUTES
    : Math.min(2 * STEP_SEC.hour, lengthOf(range) / 10);
}

/** These figures of the usage of a range. A year of all of them is some megabytes. */
export function usageQuery<const Asked extends Figure>(
  figures: readonly Asked[],
  usage: UsageQuery,
  everyMs: number,
) {
  const query = { ...usage, figures };
  return queryOptions({
    queryKey: ["usage", query],
    queryFn: async ({ signal }) =>
      (await read("/admin/v1/usage", { query, signal })) as unknown as UsageRead<Asked>,
    select: whole,
    placeholderData: keepRows(query),
    refetchInterval: everyMs,
  });
}

/** What the gateway answers: each row has the figures that were asked for. */
interface UsageRead<Asked extends Figure> {
  readonly data: readonly Usage<Asked>[];
}

/** What a range comes to in all. */
export function totalsQuery(range: TimeRange) {
  return usageQuery(TOTALS, { ...range, interval: "all", group_by: "none" }, LIVE_MS);
}

/** What the period before a range came to. */
export function totalsBeforeQuery(range: TimeRange) {
  return usageQuery(TOTALS, { ...rangeBefore(range), interval: "all", group_by: "none" }, CHART_MS.day);
}

/** What is spent by the day, of the days that the month's forecast is made from. */
export function forecastQuery(nowSec: number) {
  // To the end of the day, so that the same rows are read all day.
  const to = (Math.floor(nowSec / STEP_SEC.day) + 1) * STEP_SEC.day;
  const range = { from: forecastFrom(nowSec), to };
  return usageQuery(["credit"], { ...range, interval: "day", group_by: "none" }, CHART_MS.hour);
}

/** Whose usage is charted, when, and in which steps. */
interface Charted {
  readonly range: TimeRange;
  readonly step: Step;
  /** Absent: all. */
  readonly whose?: UsageOf;
}

/** What charts draw of each model. */
export function modelStepsQuery(charted: Charted) {
  return stepsQuery(["requests", "credit"], "model", charted);
}

/** What charts draw of all models together. */
export function allStepsQuery(charted: Charted) {
  return stepsQuery(["failed", "latency_ms", "first_byte_ms", "latency_spread"], "none", charted);
}

function stepsQuery<const Asked extends Figure>(
  figures: readonly Asked[],
  by: "model" | "none",
  { range, step, whose }: Charted,
) {
  const query = { ...wholeSteps(range, step), ...whose, interval: step, group_by: by };
  return usageQuery(figures, query, CHART_MS[step]);
}

/** What Overview ranks by spend. */
export type Ranked = "model" | "account" | "key";
const MOST_RANKED = 5;

/** The models, accounts or keys that spend the most in a range. */
export function rankingQuery(range: TimeRange, by: Ranked) {
  const query = { ...range, interval: "all", group_by: by, top: MOST_RANKED } as const;
  return usageQuery(["credit"], query, CHART_MS.hour);
}

/** How many requests were refused in each step of a range, or in all of it. */
export function refusalsQuery(range: TimeRange, interval: Step | "all") {
  const { from, to } = interval === "all" ? range : wholeSteps(range, interval);
  const query = { from, to, interval };
  return queryOptions({
    queryKey: ["refusals", "counts", query],
    queryFn: ({ signal }) => read("/admin/v1/refusals/counts", { query, signal }),
    select: whole,
    placeholderData: keepRows(query),
    refetchInterval: CHART_MS[interval === "all" ? "hour" : interval],
  });
}

/** How many tasks of a range are in each state. */
export function tasksQuery({ from, to }: TimeRange) {
  const query = { from, to };
  return queryOptions({
    queryKey: ["tasks", "counts", query],
    queryFn: ({ signal }) => read("/admin/v1/tasks/counts", { query, signal }),
    placeholderData: keepRows(query),
    refetchInterval: 4 * LIVE_MS,
  });
}

/** How many tasks wait and run now. */
export const queueQuery = queryOptions({
  queryKey: ["status"],
  queryFn: ({ signal }) => read("/admin/v1/status", { signal }),
  refetchInterval: LIVE_MS,
});

/** How the routes fare. */
export const routesQuery = queryOptions({
  queryKey: ["routes"],
  queryFn: ({ signal }) => read("/admin/v1/routes", { signal }),
  refetchInterval: LIVE_MS,
});

/** The newest request, if there was any. */
export const newestQuery = queryOptions({
  queryKey: ["requests", "newest"],
  queryFn: ({ signal }) => read("/admin/v1/requests", { query: { limit: 1 }, signal }),
});

/** All that Overview reads of a range, in the order in which a reader looks at it. */
export function overviewQueries(range: TimeRange, nowSec: number) {
  const step = intervalOf(range);
  const charted = { range, step };
  return [
    newestQuery,
    totalsQuery(range),
    totalsBeforeQuery(range),
    forecastQuery(nowSec),
    refusalsQuery(range, "all"),
    queueQuery,
    modelStepsQuery(charted),
    allStepsQuery(charted),
    refusalsQuery(range, step),
    tasksQuery(range),
    routesQuery,
    rankingQuery(range, "model"),
    rankingQuery(range, "account"),
    rankingQuery(range, "key"),
  ];
}
