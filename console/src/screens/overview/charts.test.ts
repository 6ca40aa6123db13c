import { expect, test } from "bun:test";
import { groupSeries, lineOf, stepsOf } from "./charts.ts";

const HOUR = 3_600;

test("a range is drawn from the beginning of its first hour, to the one that has its end", () => {
  expect(stepsOf({ from: 10 * HOUR + 60, to: 12 * HOUR + 1 }, "hour")).toEqual([
    10 * HOUR,
    11 * HOUR,
    12 * HOUR,
  ]);
  expect(stepsOf({ from: 10 * HOUR, to: 12 * HOUR }, "hour")).toEqual([10 * HOUR, 11 * HOUR]);
});

test("days begin at midnight of UTC, and weeks with its Mondays", () => {
  expect(stepsOf({ from: 90_000, to: 180_000 }, "day")).toEqual([86_400, 172_800]);
  const [monday, wednesday, later] = [23, 25, 31].map((date) => Date.UTC(2026, 10, date) / 1_000);
  expect(stepsOf({ from: wednesday ?? 0, to: later ?? 0 }, "week")).toEqual([
    monday ?? 0,
    (monday ?? 0) + 7 * 86_400,
  ]);
});

test("groups are series, the largest first, with zero where a group has nothing", () => {
  const series = groupSeries(
    [
      { time: 0, group: "small", value: 1 },
      { time: HOUR, group: "large", value: 5 },
      { time: 0, group: null, value: 2 },
    ],
    [0, HOUR],
  );
  expect(series).toEqual([
    { name: "large", values: [0, 5] },
    { name: "without a name", values: [2, 0] },
    { name: "small", values: [1, 0] },
  ]);
});

test("groups beyond the colours are one series, so that the sum stays", () => {
  const points = Array.from({ length: 10 }, (_, at) => ({ time: 0, group: `g${at}`, value: 10 - at }));
  const series = groupSeries(points, [0]);
  expect(series.map(({ name }) => name)).toEqual(["g0", "g1", "g2", "g3", "g4", "g5", "others"]);
  expect(series.at(-1)?.values).toEqual([4 + 3 + 2 + 1]);
});

test("a step without a row has no value, or zero where that is what it means", () => {
  const rows = [{ time: HOUR, ms: 85 }];
  expect(lineOf(rows, [0, HOUR], ({ ms }) => ms, null)).toEqual([null, 85]);
  expect(lineOf(rows, [0, HOUR], ({ ms }) => ms, 0)).toEqual([0, 85]);
});
