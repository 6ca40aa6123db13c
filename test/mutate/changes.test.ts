import { describe, expect, test } from "bun:test";
import { changed, changesOf, linesOf, sample } from "./changes.ts";
import { MutationReport } from "./report.ts";

const changesIn = (text: string): string[] => changesOf(text).map((change) => changed(text, change));

describe("the small changes of a text", () => {
  const cases: readonly (readonly [text: string, changes: readonly string[]])[] = [
    ["f(a < b);", [";", "f(a <= b);", "f(a >= b);"]],
    ["x = a >= b;", ["x = a > b;", "x = a < b;"]],
    ["x = a === b && c;", ["x = a === b || c;", "x = a !== b && c;"]],
    ["x = a ?? b;", ["x = (a);"]],
    ["x = a + 1;", ["x = a - 1;", "x = a + 2;"]],
    ["x = a + 1_000n;", ["x = a - 1_000n;", "x = a + 1001n;"]],
    ['x = a + ", b";', []],
    ["x += y;", ["x -= y;"]],
    ["x = !a;", ["x = a;"]],
    ["x = true;", ["x = false;"]],
    ["if (a) return b;", ["if (!(a)) return b;", "if (a) ;"]],
    ["if (a) {\n  throw b;\n}", ["if (!(a)) {\n  throw b;\n}", "if (a) {\n  ;\n}"]],
    ["x = a.b ? c : d;", ["x = !(a.b) ? c : d;"]],
    ["await f();", [";"]],
    ['x = { kind: "over", "other": y };', ['x = { kind: "over?", "other": y };']],
    ['x = "A sentence.";', []],
    ['import { a } from "b";\nexport { c } from "d";', []],
    ['type A = "b" | 1;\ninterface B { c: "d" }\nlet e: 5 = f as true;', []],
  ];
  for (const [text, changes] of cases)
    test(`of ${text}`, () => expect(changesIn(text).toSorted()).toEqual(changes.toSorted()));

  test("are found in every part of a class, a function and a template", () => {
    const text = "class A {\n  b() {\n    return `${this.c > 1}`;\n  }\n}\n";
    expect(changesIn(text)).toHaveLength(3);
  });

  test("are told by their line", () => {
    const text = "a = 1;\n  if (b) return c;\n";
    const [, , leave] = changesOf(text);
    expect(linesOf(text, leave!)).toEqual({ line: 2, before: "if (b) return c;", after: "if (b) ;" });
  });
});

test("a sample is the same for the same seed, another for another, and has nothing twice", () => {
  const items = Array.from({ length: 100 }, (_, i) => i);
  expect(sample(items, 20, 3)).toEqual(sample(items, 20, 3));
  expect(sample(items, 20, 3)).not.toEqual(sample(items, 20, 4));
  expect(new Set(sample(items, 100, 3)).size).toBe(100);
  expect(sample([1, 2], 20, 3)).toHaveLength(2);
});

test("the score is of what changes anything; what changes nothing is known by its text", () => {
  const place = (n: number) => ({ path: "src/a/b.ts", before: `a < ${n}`, after: `a <= ${n}` });
  const report = new MutationReport([{ ...place(3), after: ["a <= 3"], why: "a is never 3" }]);
  expect(report.score()).toBe(100);
  const made = { folder: "src/a", line: 1, end: undefined };
  report.add({ ...made, ...place(1), end: "src/a/b.test.ts" });
  expect(report.add({ ...made, ...place(2) })).toContain("NO TEST FAILED");
  expect(report.add({ ...made, ...place(3) })).toContain("a is never 3");
  expect(report.score()).toBe(50);
  expect(report.table()).toContain("| src/a | 3 | 1 | 1 | 1 | 50.0 % |");
  expect(report.table()).toEndWith("passed unseen: src/a/b.ts:1: a < 2  →  a <= 2");
});
