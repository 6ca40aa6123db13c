import { expect, test } from "bun:test";
import { editDistance } from "./edit-distance.ts";

const cases: readonly (readonly [string, string, number])[] = [
  ["", "", 0],
  ["", "abc", 3],
  ["abc", "", 3],
  ["abc", "abc", 0],
  ["abc", "abd", 1],
  ["abc", "ac", 1],
  ["ac", "abc", 1],
  ["kitten", "sitting", 3],
  ["claude-sonet-4-5", "claude-sonnet-5.5", 3],
  ["flaw", "lawn", 2],
];

test.each(cases)("%p and %p are %p edits apart, either way round", (a, b, edits) => {
  expect([editDistance(a, b), editDistance(b, a)]).toEqual([edits, edits]);
});
