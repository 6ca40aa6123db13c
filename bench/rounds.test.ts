import { expect, test } from "bun:test";
import { median, percentile } from "./percentile.ts";
import { ratiosTo, spread, stands, toRound } from "./rounds.ts";

const load = { requests: 200, errors: 0, seconds: 2, p50Ms: 1, p99Ms: 4, events: 800 };

test("the median is the middle value, or lies between the two middle ones", () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(median([])).toBe(0);
});

test("the order of the given values is kept", () => {
  const values = [3, 1, 2];
  median(values);
  expect(values).toEqual([3, 1, 2]);
});

test("a percentile is a value that occurred, by the nearest rank", () => {
  const values = Array.from({ length: 100 }, (_, index) => index + 1);
  expect(percentile(values, 0.5)).toBe(50);
  expect(percentile(values, 0.99)).toBe(99);
  expect(percentile(values, 1)).toBe(100);
  expect(percentile([7], 0.01)).toBe(7);
  expect(percentile([], 0.5)).toBe(0);
});

test("a round's CPU time is per unit of work, and its rate per request", () => {
  expect(toRound(0.02, 800, load)).toEqual({
    cpuUs: 25,
    p50Ms: 1,
    p99Ms: 4,
    requestsPerSecond: 100,
    requests: 200,
  });
});

test("a spread has the median and both ends", () => {
  expect(spread([5, 1, 9])).toEqual({ median: 5, min: 1, max: 9 });
});

test("ratios are of rounds beside each other, not of medians", () => {
  const side = (...cpuSeconds: readonly number[]) => cpuSeconds.map((cpu) => toRound(cpu, 200, load));
  expect(ratiosTo("bare", { bare: side(1, 2, 4), ours: side(2, 2, 12) })).toEqual([2, 1, 3]);
  expect(ratiosTo("bare", { bare: side(1), ours: side(2, 3) })).toEqual([2]);
  expect(ratiosTo("tap", { bare: side(1), ours: side(2) })).toEqual([]);
});

test("a warm-up ends when three rounds have brought nothing", () => {
  expect(stands([100, 100, 100])).toBe(false);
  expect(stands([400, 200, 110, 102, 100])).toBe(false);
  expect(stands([400, 200, 100, 130, 98])).toBe(false);
  expect(stands([400, 200, 100, 130, 98, 101])).toBe(true);
});
