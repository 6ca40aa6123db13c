import { expect, test } from "bun:test";
import {
  addHistogram,
  doublings,
  type Histogram,
  histogramText,
  observe,
  quantiles,
  readHistogram,
} from "./histogram.ts";

const of = (...durationsMs: readonly number[]): Histogram => {
  const histogram: Histogram = [];
  for (const ms of durationsMs) observe(histogram, ms);
  return histogram;
};

test("a percentile is within 4.5 percent of the duration that it stands for, and whole milliseconds", () => {
  for (let ms = 12; ms < 5_000_000; ms = Math.ceil(ms * 1.013)) {
    const [told = 0] = quantiles(of(ms), [0.99]) ?? [];
    expect(told % 1).toBe(0);
    expect(Math.abs(told - ms)).toBeLessThanOrEqual(ms * 0.045 + 0.5);
  }
});

test("percentiles are those of the ordered durations", () => {
  const many = of(...Array.from({ length: 100 }, (_, i) => (i + 1) * 100));
  const told = quantiles(many, [0.5, 0.95, 0.99, 1]) ?? [];
  for (const [i, ms] of [5_000, 9_500, 9_900, 10_000].entries())
    expect(Math.abs((told[i] ?? 0) / ms - 1)).toBeLessThan(0.045);
  expect(quantiles(of(1_000), [0.5, 0.99])).toEqual(
    quantiles(of(1_000, 1_000, 1_000), [0.5, 0.99]) as number[],
  );
});

test("doublings have each duration once, and say which they have", () => {
  expect(doublings(of(0, 0.5, 1, 1.9, 2, 3.9, 4, 300, 511, 512, 512))).toEqual([
    { belowMs: 1, count: 2 },
    { belowMs: 2, count: 2 },
    { belowMs: 4, count: 2 },
    { belowMs: 8, count: 1 },
    { belowMs: 512, count: 2 },
    { belowMs: 1024, count: 2 },
  ]);
  expect(doublings([])).toEqual([]);
});

test("without a duration there is no percentile, and none is below zero", () => {
  expect(quantiles([], [0.5])).toBeUndefined();
  expect(quantiles(of(0, -5, 0.4), [0.5, 1])).toEqual([0, 0]);
});

test("histograms add up, and their text is read as it was written", () => {
  const sum = of(3, 70, 70);
  addHistogram(sum, of(0, 1, 70, 90_000));
  expect(sum).toEqual(of(0, 1, 3, 70, 70, 70, 90_000));
  expect(readHistogram(histogramText(sum))).toEqual(sum);
  expect(readHistogram(histogramText([]))).toEqual([]);
});

test("the text is the same in every version: what is stored is read by later ones", () => {
  expect(histogramText(of(0, 1, 1.9, 1_000, 1_000, 60_000))).toBe("[0,1,1,1,8,1,80,2,127,1]");
});
