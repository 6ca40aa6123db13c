import { expect, test } from "bun:test";
import { refusalSeries } from "./refusal-series.ts";

const HOUR = 3_600;
const name = (group: string | null): string => group ?? "none";

test("each hour of the range has a value, and the largest group comes first", () => {
  const counts = [
    { time: HOUR, group: "a", count: 1 },
    { time: 3 * HOUR, group: "b", count: 5 },
    { time: 3 * HOUR, group: null, count: 2 },
  ];
  expect(refusalSeries(counts, { from: HOUR + 10, to: 4 * HOUR }, HOUR, name)).toEqual({
    times: [HOUR, 2 * HOUR, 3 * HOUR],
    series: [
      { name: "b", values: [0, 0, 5] },
      { name: "none", values: [0, 0, 2] },
      { name: "a", values: [1, 0, 0] },
    ],
  });
});

test("more groups than there are colours share the last series", () => {
  const counts = Array.from({ length: 9 }, (_, i) => ({ time: 0, group: `g${i}`, count: 10 - i }));
  const { series } = refusalSeries(counts, { from: 0, to: HOUR }, HOUR, name);
  expect(series).toHaveLength(7);
  expect(series.at(-1)).toEqual({ name: "others", values: [4 + 3 + 2] });
});

test("without refusals there is one empty interval at least", () => {
  expect(refusalSeries([], { from: 10, to: 20 }, HOUR, name)).toEqual({ times: [0], series: [] });
});
