import { expect, test } from "bun:test";
import { QueryClient, QueryObserver } from "@tanstack/solid-query";
import { intervalOf, rangeBefore, rangeOf, type TimeRange, wholeSteps } from "../../shell/range.ts";
import { refusalsQuery, tasksQuery, usageQuery } from "./reads.ts";
import type { UsageQuery } from "./types.ts";

const NOON = Date.UTC(2026, 10, 25, 12) / 1_000;
const rows = { data: [] };

type Options =
  | ReturnType<typeof usageQuery<"credit">>
  | ReturnType<typeof refusalsQuery>
  | ReturnType<typeof tasksQuery>;

/** Whether the rows of one query are shown while those of the next are read. */
function isKept(one: Options, next: Options): boolean {
  const client = new QueryClient();
  const idle = { enabled: false, refetchInterval: false } as const;
  client.setQueryData(one.queryKey, rows);
  const observer = new QueryObserver<unknown>(client, { ...one, ...idle } as never);
  const shown = (): unknown => (observer.getCurrentResult().data as typeof rows | undefined)?.data;
  expect(shown()).toBe(rows.data);
  observer.setOptions({ ...next, ...idle } as never);
  const { isPending } = observer.getCurrentResult();
  expect(shown()).toBe(isPending ? undefined : rows.data);
  return !isPending;
}

/** The usage that a chart draws of a range. */
function drawn(range: TimeRange, more: Partial<UsageQuery> = {}) {
  const step = intervalOf(range);
  return usageQuery(
    ["credit"],
    { ...wholeSteps(range, step), interval: step, group_by: "model", ...more },
    1_000,
  );
}

/** The usage of a range in all. */
function total(range: TimeRange, more: Partial<UsageQuery> = {}) {
  return usageQuery(["credit"], { ...range, interval: "all", group_by: "model", ...more }, 1_000);
}

const RANGES = ["1h", "24h", "7d", "30d", "90d", "1y"] as const;
const READS = [
  drawn,
  total,
  (range: TimeRange) => total(rangeBefore(range)),
  (range: TimeRange) => refusalsQuery(range, "all"),
  (range: TimeRange) => refusalsQuery(range, intervalOf(range)),
  tasksQuery,
];

test("rows of a named range stay while it moves on with the clock", () => {
  // Within five minutes, into the next five, into the next hour, and into the next day.
  for (const at of [NOON + 17 * 60, NOON + 19 * 60, NOON + 20 * 60, NOON + 3_600, NOON + 12 * 3_600])
    for (const range of RANGES)
      for (const readOf of READS) {
        const kept = isKept(readOf(rangeOf({ range }, at - 30)), readOf(rangeOf({ range }, at + 30)));
        expect([at, range, kept]).toEqual([at, range, true]);
      }
});

test("rows of one named range are not shown for another", () => {
  for (const one of RANGES)
    for (const next of RANGES.filter((range) => range !== one))
      for (const readOf of READS) {
        const kept = isKept(readOf(rangeOf({ range: one }, NOON)), readOf(rangeOf({ range: next }, NOON)));
        expect([one, next, kept]).toEqual([one, next, false]);
      }
});

test("rows of one account, model or grouping are not shown for another", () => {
  const range = rangeOf({}, NOON);
  const one = total(range, { account_id: "acc_1" });
  for (const more of [{}, { account_id: "acc_2" }, { key_id: "key_1" }, { group_by: "key" }] as const)
    expect([more, isKept(one, total(range, more))]).toEqual([more, false]);
});

test("rows of an hour are not shown for the next", () => {
  expect(
    isKept(total({ from: NOON, to: NOON + 3_600 }), total({ from: NOON + 3_600, to: NOON + 7_200 })),
  ).toBe(false);
});
