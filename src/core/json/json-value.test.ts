import { expect, test } from "bun:test";
import { isJsonObject, jsonOfAmounts, present } from "./json-value.ts";

test("an object of JSON is neither an array nor null", () => {
  expect([{}, { a: 1 }].map(isJsonObject)).toEqual([true, true]);
  expect([[], null, undefined, "a", 1, true].some(isJsonObject)).toBe(false);
});

test("members without a value are none", () => {
  expect(Object.entries(present({ a: 1, b: undefined, c: null, d: "" }))).toEqual([
    ["a", 1],
    ["c", null],
    ["d", ""],
  ]);
});

test("amounts are written as decimal text, all else as it is", () => {
  expect(jsonOfAmounts({ a: 2n ** 53n + 1n, b: [{ c: -1n }], d: 1.5, e: "1" })).toBe(
    '{"a":"9007199254740993","b":[{"c":"-1"}],"d":1.5,"e":"1"}',
  );
});
