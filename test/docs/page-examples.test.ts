import { describe, expect, test } from "bun:test";
import { examplesOf, printsAs } from "./page-examples.ts";

describe("what a program printed is held against what its page says", () => {
  const cases = [
    { pattern: "…\ncredit: N", output: "Hello.\ncredit: 0.07\n", is: true },
    { pattern: "…\ncredit: N", output: "two\nlines\ncredit: 12", is: true },
    { pattern: "…\ncredit: N", output: "\ncredit: 0.07\n", is: false },
    { pattern: "…\ncredit: N", output: "Hello.\ncredit: undefined\n", is: false },
    { pattern: "…\ncredit: N", output: "Hello.\ncredit: 1\nmore", is: false },
    { pattern: "called: it …\n…", output: "called: it undefined\nWarm.", is: false },
    { pattern: '{…"credit":N}', output: '{"a":[1],"credit":0.5}', is: true },
    { pattern: '{…"credit":N}', output: '{"credit":null}', is: false },
    { pattern: "a.c", output: "abc", is: false },
  ];
  for (const { pattern, output, is } of cases) {
    test(`${JSON.stringify(output)} ${is ? "is" : "is not"} ${JSON.stringify(pattern)}`, () =>
      expect(printsAs(pattern, output)).toBe(is));
  }
});

test("programs are found with what they print, and data is not run", () => {
  const page = "### One\n\n```sh\ncurl x\n```\n\nPrints:\n\n```text\n…\n```\n\n```json\n{}\n```\n";
  expect(examplesOf(page)).toEqual([{ title: "### One", language: "sh", code: "curl x", prints: "…" }]);
  expect(() => examplesOf("### Two\n\n```js\n1\n```\n")).toThrow("Two");
});
