import { expect, test } from "bun:test";
import { writeWhole } from "./incoming.ts";

/** A file that takes so many bytes at each of its writes, and none after them. */
function takes(...counts: readonly number[]) {
  const content: number[] = [];
  const left = [...counts];
  return {
    content,
    async write(bytes: Uint8Array, from: number, length: number) {
      const bytesWritten = Math.min(left.shift() ?? 0, length);
      content.push(...bytes.subarray(from, from + bytesWritten));
      return { bytesWritten };
    },
  };
}

const PIECE = Uint8Array.from([1, 2, 3, 4, 5]);

test("a piece of which the disk takes a little at a time is written to its end", async () => {
  const file = takes(1, 3, 9);
  await writeWhole(file, PIECE);
  expect(file.content).toEqual([...PIECE]);
});

test("a disk that takes no more is told of", async () => {
  const told = await writeWhole(takes(1, 3), PIECE).catch(String);
  expect(told).toBe("Error: The disk takes no more.");
});
