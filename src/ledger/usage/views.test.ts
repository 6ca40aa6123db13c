import { expect, test } from "bun:test";
import { sql } from "kysely";
import { openMemoryStore } from "../../../test/simulation/sqlite-memory.ts";
import { kyselyOver } from "../../db/sqlite.ts";
import { beginOf, beginOfRow, INTERVALS } from "./intervals.ts";
import {
  DAY_MS,
  type Dimension,
  DIMENSIONS,
  FIVE_MINUTES_MS,
  HOUR_MS,
  isKeptBy,
  namesIn,
  startOf,
  THIRTY_DAYS_MS,
  type View,
  viewFor,
  VIEWS,
} from "./views.ts";

const AT_MS = Date.UTC(2026, 10, 25, 13, 47, 31, 5);

test("usage is read from the view with the fewest rows that tells apart what is asked for", () => {
  const cases: readonly (readonly [grainMs: number, wanted: readonly Dimension[], view: View])[] = [
    [HOUR_MS, [], "outcome"],
    [FIVE_MINUTES_MS, ["outcome"], "outcome"],
    [DAY_MS, ["outcome"], "outcome"],
    [HOUR_MS, ["provider", "model"], "route"],
    [THIRTY_DAYS_MS, ["model"], "route"],
    [DAY_MS, ["account"], "account"],
    [DAY_MS, ["account", "key"], "key"],
    [THIRTY_DAYS_MS, ["key"], "key"],
    [HOUR_MS, ["account"], "full"],
    [FIVE_MINUTES_MS, ["key"], "full"],
    [DAY_MS, ["model", "outcome"], "full"],
  ];
  expect(cases.map(([grainMs, wanted]) => viewFor(grainMs, wanted))).toEqual(cases.map(([, , view]) => view));
});

test("a view has the names that it tells apart, and is kept by its times", () => {
  const all = { model: "m", provider: "p", account: "a", key: "k", outcome: "o" };
  const named = (view: View) => Object.values(namesIn(view, all)).join("");
  const grains = (view: View) =>
    [FIVE_MINUTES_MS, HOUR_MS, DAY_MS, THIRTY_DAYS_MS].filter((grainMs) => isKeptBy(grainMs, view));
  const found = (Object.keys(VIEWS) as View[]).map((view) => [view, named(view), grains(view)]);
  expect(found).toEqual([
    ["outcome", "o", [300_000, 3_600_000, 86_400_000, 2_592_000_000]],
    ["route", "mp", [300_000, 3_600_000, 86_400_000, 2_592_000_000]],
    ["account", "a", [86_400_000, 2_592_000_000]],
    ["key", "ak", [86_400_000, 2_592_000_000]],
    ["full", "mpako", [300_000, 3_600_000, 86_400_000]],
  ]);
  expect(DIMENSIONS.join(" ")).toBe("model provider account key outcome");
});

test("a time begins with its first millisecond", () => {
  for (const grainMs of [FIVE_MINUTES_MS, HOUR_MS, DAY_MS]) {
    const start = startOf(grainMs, AT_MS);
    expect([startOf(grainMs, start), startOf(grainMs, start + grainMs - 1)]).toEqual([start, start]);
    expect(startOf(grainMs, start + grainMs)).toBe(start + grainMs);
  }
  expect(startOf(HOUR_MS, AT_MS)).toBe(Date.UTC(2026, 10, 25, 13));
});

test("an interval is one of UTC's, and a week begins with its Monday, in the tables too", async () => {
  const want = [Date.UTC(2026, 10, 25, 13), Date.UTC(2026, 10, 25), Date.UTC(2026, 10, 23)];
  expect(INTERVALS.map((interval) => beginOf(interval, AT_MS))).toEqual(want);
  expect(beginOf("week", Date.UTC(2026, 10, 23))).toBe(Date.UTC(2026, 10, 23));
  expect(beginOf("week", Date.UTC(2026, 10, 23) - 1)).toBe(Date.UTC(2026, 10, 16));
  const file = await openMemoryStore();
  for (const [i, interval] of INTERVALS.entries()) {
    const begin = beginOfRow(interval, FIVE_MINUTES_MS);
    const { rows } = await sql<{
      begin: bigint;
    }>`select ${begin} as begin from (select ${sql.lit(AT_MS)} as time_ms)`.execute(kyselyOver(file));
    expect(Number(rows[0]?.begin)).toBe(want[i]!);
  }
  const { rows } = await sql<{ begin: bigint }>`select ${beginOfRow("day", DAY_MS)} as begin
    from (select 5 as time_ms)`.execute(kyselyOver(file));
  expect(rows).toEqual([{ begin: 5n }]);
  file.close();
});
