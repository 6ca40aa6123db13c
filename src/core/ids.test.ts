import { expect, test } from "bun:test";
import { newId, newRequestId } from "./ids.ts";
import { systemRandom } from "./random.ts";

test("an id is its prefix and all 128 bits in hex", () => {
  const bytes = Uint8Array.from({ length: 16 }, (_, i) => i * 17);
  expect(newId("hold", { bytes: () => bytes })).toBe("hold_00112233445566778899aabbccddeeff");
});

test("no two ids of the machine are the same", () => {
  const ids = Array.from({ length: 10_000 }, () => newId("key", systemRandom));
  expect(new Set(ids).size).toBe(10_000);
  expect(ids.every((id) => /^key_[0-9a-f]{32}$/.test(id))).toBe(true);
});

test("ids of requests are in the order of their time, and as long as any", () => {
  const bytes = Uint8Array.from({ length: 10 }, (_, i) => i * 17);
  expect(newRequestId(0x0199_0000_00ff, { bytes: () => bytes })).toBe("req_0199000000ff00112233445566778899");
  const ids = [1, 255, 256, 1_795_268_036_000].map((ms) => newRequestId(ms, systemRandom));
  expect(ids.every((id) => /^req_[0-9a-f]{32}$/.test(id))).toBe(true);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(Array.from({ length: 10_000 }, () => newRequestId(1, systemRandom))).size).toBe(10_000);
});
