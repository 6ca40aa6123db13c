import { describe, expect, test } from "bun:test";
import { readCursor, toPage } from "./page.ts";

const rows = (count: number) => Array.from({ length: count }, (_, i) => ({ seq: BigInt(i + 1) }));

describe("a page", () => {
  // One row more than the page has is asked for, so that a full last page is told from one with more behind it.
  for (const [found, shown, next] of [
    [0, 0, null],
    [1, 1, null],
    [2, 2, null],
    [3, 2, "2"],
  ] as const)
    test(`of two has ${shown} of ${found} rows, and ${next === null ? "nothing" : "more"} comes after it`, () => {
      const page = toPage(rows(found), 2, ({ seq }) => seq);
      expect([page.data.length, page.next]).toEqual([shown, next]);
    });

  test("begins after a number of 18 digits at the most", () => {
    expect(readCursor(undefined)).toBeUndefined();
    expect(readCursor("0")).toBe(0n);
    expect(readCursor("9".repeat(18))).toBe(999_999_999_999_999_999n);
    for (const after of ["9".repeat(19), "", "-1", "1.0", " 1"])
      expect(() => readCursor(after)).toThrow("after");
  });
});
