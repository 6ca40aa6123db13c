import { expect, test } from "bun:test";
import { exactTime } from "../format/times.ts";
import { inOrder } from "./order.ts";

const COLUMNS = [{ order: "size", text: (row: number | null) => row }, { text: () => 0 }];

test("rows are ordered by a column, either way, and those without a value stand last", () => {
  const rows = [2, null, 10, 1];
  expect(inOrder(rows, COLUMNS, "size")).toEqual([1, 2, 10, null]);
  expect(inOrder(rows, COLUMNS, "-size")).toEqual([10, 2, 1, null]);
});

test("times are ordered by when they are, not by the letters of their dates", () => {
  const rows = [1_796_000_000, null, 1_795_000_000, 1_797_000_000];
  const dated = [
    { order: "at", text: (at: number | null) => at && exactTime(at), rank: (at: number | null) => at },
  ];
  expect(rows.slice(2).map((at) => exactTime(at ?? 0))).toEqual([
    expect.stringMatching(/^18 Nov/),
    expect.stringMatching(/^1\d Dec/),
  ]);
  expect(inOrder(rows, dated, "at")).toEqual([1_795_000_000, 1_796_000_000, 1_797_000_000, null]);
});

test("an unknown order leaves the rows as they are", () => {
  const rows = [2, 1];
  expect(inOrder(rows, COLUMNS, undefined)).toBe(rows);
  expect(inOrder(rows, COLUMNS, "-other")).toBe(rows);
});
