import { expect, test } from "bun:test";
import { inOrder } from "./order.ts";

const COLUMNS = [{ order: "size", text: (row: number | null) => row }, { text: () => 0 }];

test("rows are ordered by a column, either way, and those without a value stand last", () => {
  const rows = [2, null, 10, 1];
  expect(inOrder(rows, COLUMNS, "size")).toEqual([1, 2, 10, null]);
  expect(inOrder(rows, COLUMNS, "-size")).toEqual([10, 2, 1, null]);
});

test("an unknown order leaves the rows as they are", () => {
  const rows = [2, 1];
  expect(inOrder(rows, COLUMNS, undefined)).toBe(rows);
  expect(inOrder(rows, COLUMNS, "-other")).toBe(rows);
});
