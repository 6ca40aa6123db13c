import { describe, expect, test } from "bun:test";
import { createChance } from "../chance.ts";
import { readPattern } from "./sample-pattern.ts";

const made = (pattern: string, longer = 0, seed = "x"): string =>
  readPattern(pattern)(createChance(seed), longer);
const lengths = (pattern: string, longer: readonly number[]): readonly number[] =>
  longer.map((more) => made(pattern, more).length);

describe("a text that a pattern matches", () => {
  const patterns = [
    "^[A-Z]{3}-\\d{4}$",
    "^(red|green|blue)$",
    "^\\+?[1-9]\\d{1,14}$",
    "^(?:[a-f0-9]{2}:){5}[a-f0-9]{2}$",
    "^(?<year>\\d{4})/x$",
    "^a\\.b\\\\c$",
    "^\\p{Lu}\\p{Ll}+$",
    "^\\u0041\\x42\\u{43}$",
    "^[^a-zA-Z0-9]$",
    "^[^\\x20-\\x7e]$",
    "^[\\u4e00-\\u4e05]{2}$",
    "^[{]\\[\\]$",
    "^\\w+\\s\\S$",
    "^a*?b??c+?$",
    "^(a|(b|c)d)e$",
  ];
  for (const pattern of patterns)
    test(pattern, () => {
      for (let seed = 0; seed < 10; seed += 1)
        for (const longer of [0, 1, 7])
          expect(made(pattern, longer, String(seed))).toMatch(new RegExp(pattern, "u"));
    });
});

test("repetitions are as few as may be, and as many more as there is room for", () => {
  const more = [0, 1, 5, 100];
  expect(lengths("^a+$", more)).toEqual([1, 2, 6, 101]);
  expect(lengths("^a*$", more)).toEqual([0, 1, 5, 100]);
  expect(lengths("^a?$", more)).toEqual([0, 1, 1, 1]);
  expect(lengths("^a{3}$", more)).toEqual([3, 3, 3, 3]);
  expect(lengths("^a{3,}$", more)).toEqual([3, 4, 8, 103]);
  expect(lengths("^a{3,5}$", more)).toEqual([3, 4, 5, 5]);
  expect(lengths("^abc$", more)).toEqual([3, 3, 3, 3]);
});

test("what only looks around gives nothing of its own, and neither does a class without characters", () => {
  expect(made("^(?=abc)(?<!x)a$")).toBe("a");
  expect(made("^[]a$")).toBe("a");
  expect(made("^a\\bb$")).toBe("ab");
  expect(made("^\\/a$")).toBe("/a");
});

test("a text comes to no more than forty thousand repetitions", () => {
  expect(made("^(a{1000}){1000}$").length).toBeLessThanOrEqual(40_000);
  expect(made("a{40000}").length).toBe(40_000);
  expect(made("a{40001}").length).toBe(40_000);
});
