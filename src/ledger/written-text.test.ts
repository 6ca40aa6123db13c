import { expect, test } from "bun:test";
import { NO_USAGE } from "../core/money/usage.ts";
import { createRulesText, usageText } from "./written-text.ts";

test("usage is written without what was not used", () => {
  const texts = [
    usageText(NO_USAGE),
    usageText({ ...NO_USAGE, input: 1 }),
    usageText({ ...NO_USAGE, input: 12, output: 1, images: 3, seconds: 0 }),
  ];
  expect(texts).toEqual(["{}", '{"input":1}', '{"input":12,"output":1,"images":3}']);
});

test("the rules of a version of prices are written once, prices as decimal text", () => {
  const rulesText = createRulesText();
  const snapshot = (version: string, price: bigint) => ({
    version,
    prices: { input: [{ when: {}, price }] },
    pricedAtMs: 0,
  });
  const first = '{"input":[{"when":{},"price":"2"}]}';
  expect(rulesText(snapshot("v", 2n))).toBe(first);
  // A version never has other prices: it is not looked at again.
  expect(rulesText(snapshot("v", 3n))).toBe(first);
  expect(rulesText(snapshot("v2", 3n))).toBe('{"input":[{"when":{},"price":"3"}]}');
});
