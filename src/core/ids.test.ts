import { expect, test } from "bun:test";
import { newId } from "./ids.ts";
import { systemRandom } from "./random.ts";

test("an id is its prefix and all 128 bits in hex", () => {
  const bytes = Uint8Array.from({ length: 16 }, (_, i) => i * 17);
  expect(newId("hold", { bytes: () => bytes })).toBe("hold_00112233445566778899aabbccddeeff");
});

test("no two ids of the machine are the same", () => {
  const ids = Array.from({ length: 10_000 }, () => newId("req", systemRandom));
  expect(new Set(ids).size).toBe(10_000);
  expect(ids.every((id) => /^req_[0-9a-f]{32}$/.test(id))).toBe(true);
});
