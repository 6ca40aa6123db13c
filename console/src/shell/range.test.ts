import { expect, test } from "bun:test";
import {
  drawnRange,
  FIVE_MINUTES,
  intervalOf,
  lengthOf,
  RANGES,
  rangeBefore,
  type RangeName,
  rangeOf,
  readRange,
} from "./range.ts";

const NOON = Date.UTC(2026, 10, 25, 12) / 1_000;
const HOUR = 3_600;

test("a named range is at least as long as its name says, and begins with an hour, the last hour with five minutes", () => {
  for (const range of Object.keys(RANGES) as RangeName[])
    for (const nowSec of [NOON, NOON + 1, NOON + 17 * 60 + 30, NOON + HOUR - 1]) {
      const { from, to } = rangeOf({ range }, nowSec);
      expect([range, to % 60, to - nowSec < 60 && to >= nowSec]).toEqual([range, 0, true]);
      if (range === "1h") expect([from % FIVE_MINUTES, to - from - HOUR < FIVE_MINUTES]).toEqual([0, true]);
      else expect([from % HOUR, to - from - RANGES[range].seconds < HOUR]).toEqual([0, true]);
      expect(to - from).toBeGreaterThanOrEqual(RANGES[range].seconds);
    }
});

test("the range before ends where a range begins, and is longer by less than an hour", () => {
  for (const range of Object.keys(RANGES) as RangeName[]) {
    const now = rangeOf({ range }, NOON + 17 * 60);
    const before = rangeBefore(now);
    expect(before.to).toBe(now.from);
    expect(lengthOf(before) - lengthOf(now)).toBeWithin(0, range === "1h" ? FIVE_MINUTES : HOUR);
    expect(before.from % (range === "1h" ? FIVE_MINUTES : HOUR)).toBe(0);
  }
});

test("what is drawn over a chart is widened to the steps of that chart, so that no part of an hour is asked for", () => {
  expect(drawnRange({ from: NOON + 20, to: NOON + HOUR + 1 }, "hour")).toEqual({
    from: NOON,
    to: NOON + 2 * HOUR,
  });
  expect(drawnRange({ from: NOON + 20, to: NOON + 40 }, "hour")).toEqual({ from: NOON, to: NOON + HOUR });
  expect(drawnRange({ from: NOON, to: NOON }, "hour")).toEqual({ from: NOON, to: NOON + HOUR });
  const day = NOON - 12 * HOUR;
  expect(drawnRange({ from: NOON, to: NOON + 40 * HOUR }, "day")).toEqual({ from: day, to: day + 72 * HOUR });
  expect(drawnRange({ from: day, to: day + 24 * HOUR }, "day")).toEqual({ from: day, to: day + 24 * HOUR });
  // The day is a Wednesday.
  const monday = day - 48 * HOUR;
  const weeks = (count: number) => ({ from: monday, to: monday + count * 7 * 24 * HOUR });
  expect(drawnRange({ from: day, to: day + 5 * 24 * HOUR }, "week")).toEqual(weeks(1));
  expect(drawnRange({ from: monday, to: day + 5 * 24 * HOUR + 1 }, "week")).toEqual(weeks(2));
});

test("charts have about as many steps as a reader tells apart", () => {
  const steps = (Object.keys(RANGES) as RangeName[]).map((range) => intervalOf(rangeOf({ range }, NOON)));
  expect(steps).toEqual(["hour", "hour", "hour", "day", "day", "week"]);
});

test("both ends that an address has are used as they are", () => {
  expect(rangeOf({ from: 61, to: 125 }, NOON)).toEqual({ from: 61, to: 125 });
});

test("an address whose range is later or longer than a chart can draw has the default range", () => {
  const year = 365 * 86_400;
  const last = 253_402_300_799;
  // As the router does: what is read lies over what the address has.
  const shown = (address: Record<string, unknown>) => rangeOf({ ...address, ...readRange(address) }, NOON);
  for (const [from, to] of [
    [1, 1 + 5 * year],
    [last - year, last],
  ] as const)
    expect(shown({ from, to })).toEqual({ from, to });
  for (const [from, to] of [
    [1, 1e15],
    [1, 1 + 6 * year],
    [last - year, last + 1],
    [1e15, 1e15 + year],
    [1, Infinity],
    [-1, year],
    [2, 1],
    ["x", year],
  ])
    expect(shown({ from, to })).toEqual(rangeOf({}, NOON));
  expect(shown({ from: 1, to: 1e15, range: "7d" })).toEqual(rangeOf({ range: "7d" }, NOON));
  expect(shown({ range: "8d" })).toEqual(rangeOf({}, NOON));
});
