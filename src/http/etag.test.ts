import { expect, test } from "bun:test";
import { isKnown } from "./etag.ts";

test.each([
  [undefined, false],
  ["", false],
  ['"a"', true],
  ['W/"a"', true],
  ['"b", W/"a" ,"c"', true],
  ["*", true],
  ['"b"', false],
  ["a", false],
  ['"ab"', false],
])("of content with the tag a, a client that says %p has it: %p", (header, known) => {
  const headers = new Headers(header === undefined ? {} : { "if-none-match": header });
  expect(isKnown(headers, '"a"')).toBe(known);
});
