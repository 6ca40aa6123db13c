import { describe, expect, test } from "bun:test";
import { openEmbeddedJson } from "./embedded-json.ts";

describe("a text is", () => {
  const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
  const list = (values: number) => `[${"1,".repeat(values - 2)}1]`;

  for (const [kind, name, text] of [
    ["object", "an object", ' {"a":[1]}\n'],
    ["value", "a list", "[]"],
    ["value", "null", "null"],
    ["value", "a number that keeps its digits", "1.50"],
    ["value", "as deep as may be", nested(64)],
    ["value", "as many values as may be", list(200_000)],
    ["none", "empty", ""],
    ["none", "followed by more", "{} {}"],
    ["none", "followed by too much", `{} ${nested(65)}`],
    ["none", "broken before it is too deep", `{"a" ${nested(65)}}`],
    ["none", "broken before it has too many values", `[1 1,${list(200_001)}]`],
    ["deep", "too deep", nested(65)],
    ["deep", "too deep, then broken", "[".repeat(65)],
    ["many", "too many values", list(200_001)],
    ["many", "too many values, then broken", `${list(200_001).slice(0, -1)} !`],
  ] as const)
    test(`${kind} where it is ${name}`, () => expect(openEmbeddedJson().read(text).kind).toBe(kind));

  test("counted with those before it", () => {
    const json = openEmbeddedJson();
    expect(json.read(list(199_999)).kind).toBe("value");
    expect(json.read("[1]").kind).toBe("many");
    expect(json.read("{").kind).toBe("none");
    expect(json.read("1").kind).toBe("value");
    expect(json.read("1").kind).toBe("many");
  });
});
