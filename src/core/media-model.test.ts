import { describe, expect, test } from "bun:test";
import { type TokenRule, tokensFor } from "./media-model.ts";

describe("the tokens of an image or a second of video", () => {
  const RULES: readonly TokenRule[] = [
    { size: ["1024*1024"], quality: ["low", "medium"], tokens: 10 },
    { resolution: ["4K"], tokens: 20 },
    { quality: ["low"], tokens: 30 },
  ];
  for (const [facts, tokens] of [
    [{ size: "1024*1024", quality: "low" }, 10],
    [{ size: "1024*1024", quality: "medium", resolution: "4K" }, 10],
    [{ size: "1024*1024", quality: "high", resolution: "4K" }, 20],
    [{ quality: "low" }, 30],
    [{ size: "1024*1024" }, 0],
    [{}, 0],
  ] as const)
    test(`of ${JSON.stringify(facts)} are those of the first rule that holds: ${tokens}`, () =>
      expect(tokensFor(RULES, facts)).toBe(tokens));

  test("a rule that asks nothing holds always", () => expect(tokensFor([{ tokens: 7 }], {})).toBe(7));
});
