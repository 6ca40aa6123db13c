import { expect, test } from "bun:test";
import { MOST_EXPORTED, readWhole } from "./read-whole.ts";

/** Reads of a list of `length` rows, and what `told` has heard. */
async function exported(length: number) {
  const told: number[] = [];
  const read = (after = "0", _: AbortSignal, limit = 0) => {
    const from = Number(after);
    const end = Math.min(from + limit, length);
    const data = Array.from({ length: end - from }, (__, at) => from + at);
    return Promise.resolve({ data, next: end < length ? String(end) : null });
  };
  const { rows, isWhole } = await readWhole(read, (rows) => told.push(rows), new AbortController().signal);
  return { rows, isWhole, told };
}

test("a list is read to its end, page after page, and the reader hears how far it is", async () => {
  const { rows, isWhole, told } = await exported(2_500);
  expect([isWhole, rows.length, rows[0], rows.at(-1)]).toEqual([true, 2_500, 0, 2_499]);
  expect(told).toEqual([1_000, 2_000, 2_500]);
  expect((await exported(0)).rows).toEqual([]);
});

test("a list that is longer than a file may be is read to the bound, and counts as not whole", async () => {
  const { rows, isWhole } = await exported(MOST_EXPORTED + 1);
  expect([isWhole, rows.length]).toEqual([false, MOST_EXPORTED]);
  expect((await exported(MOST_EXPORTED)).isWhole).toBe(true);
});
