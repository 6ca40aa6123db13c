import { expect, test } from "bun:test";
import { heatRange, heatSplits } from "./heat.ts";

test("the axis goes from the power of two below all lines and cells to that above them", () => {
  const heat = [[{ below: 512, count: 3 }], [], [{ below: 2_048, count: 1 }]];
  expect(heatRange(heat, 300, 900)).toEqual([256, 2_048]);
  expect(heatRange(heat, 90, 5_000)).toEqual([64, 8_192]);
  expect(heatRange([], null, null)).toEqual([1, 2]);
  // What took less than a millisecond.
  expect(heatRange([[{ below: 1, count: 1 }]], 1, 1)).toEqual([1, 2]);
});

test("an axis has a few round values, all within it", () => {
  expect(heatSplits(256, 2_048)).toEqual([500, 1_000, 2_000]);
  for (const to of [2, 64, 8_192, 600_000, 36_000_000]) {
    const splits = heatSplits(1, to);
    expect(splits.length).toBeLessThanOrEqual(5);
    expect(splits.length).toBeGreaterThan(0);
    expect(splits.every((value) => value >= 1 && value <= to)).toBe(true);
  }
});
