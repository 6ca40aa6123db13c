import { expect, test } from "bun:test";
import { joinBytes, ownMemory } from "./bytes.ts";

const BYTES = new Uint8Array([1, 2, 3, 4]);

test("pieces are joined in their order; one alone is given as it is", () => {
  expect(joinBytes([BYTES, new Uint8Array(), new Uint8Array([5])])).toEqual(new Uint8Array([1, 2, 3, 4, 5]));
  expect(joinBytes([BYTES])).toBe(BYTES);
  expect(joinBytes([])).toEqual(new Uint8Array());
});

test("bytes that have their memory to themselves keep it; a part of something larger is copied", () => {
  expect(ownMemory(BYTES).buffer).toBe(BYTES.buffer);
  for (const part of [BYTES.subarray(1, 3), BYTES.subarray(0, 3), BYTES.subarray(1)]) {
    const own = ownMemory(part);
    expect([own, own.buffer.byteLength]).toEqual([part, part.length]);
  }
  const shared = new Uint8Array(new SharedArrayBuffer(2)).fill(7);
  expect(ownMemory(shared).buffer).toBeInstanceOf(ArrayBuffer);
  expect([...ownMemory(shared)]).toEqual([7, 7]);
});
