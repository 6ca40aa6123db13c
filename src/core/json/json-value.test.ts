import { expect, test } from "bun:test";
import { filled, filledText, isJsonObject, jsonOfAmounts, objectsIn, present } from "./json-value.ts";

test("an object of JSON is neither an array nor null", () => {
  expect([{}, { a: 1 }].map(isJsonObject)).toEqual([true, true]);
  expect([[], null, undefined, "a", 1, true].some(isJsonObject)).toBe(false);
});

test("the objects of a list are found, and none in a value that is no list", () => {
  expect(objectsIn([{ a: 1 }, null, [], "b", {}])).toEqual([{ a: 1 }, {}]);
  for (const other of [undefined, null, "text", { a: {} }, 7]) expect(objectsIn(other)).toEqual([]);
});

test("an empty text, list or object counts as no value", () => {
  expect(["a", " ", "", 7, null, undefined, ["a"]].map(filledText)).toEqual([
    "a",
    " ",
    ...Array.from({ length: 5 }, () => undefined),
  ]);
  expect([{}, [], { a: undefined }, [0], { a: 1, b: 2 }].map((value) => filled(value))).toEqual([
    undefined,
    undefined,
    { a: undefined },
    [0],
    { a: 1, b: 2 },
  ]);
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
