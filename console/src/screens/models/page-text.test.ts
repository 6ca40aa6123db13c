import { expect, test } from "bun:test";
import { isOfNumbers, withAlignedNumbers } from "./page-text.ts";

test("numbers of a column get the decimals of its longest one, and other columns stay as they are", () => {
  const rows = [
    ["Input", "0.2", "2,000", "1"],
    ["Output", "12", "12,000", "any 0.5"],
    ["Cached", "0.025", "250", "2.5"],
  ];
  expect(withAlignedNumbers(rows)).toEqual([
    ["Input", "0.200", "2,000", "1"],
    ["Output", "12.000", "12,000", "any 0.5"],
    ["Cached", "0.025", "250", "2.5"],
  ]);
  expect([0, 1, 2, 3].map((at) => isOfNumbers(rows, at))).toEqual([false, true, true, false]);
  expect(withAlignedNumbers([])).toEqual([]);
});
