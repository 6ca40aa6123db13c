import { expect, test } from "bun:test";
import { addUsage, inputTokens, NO_USAGE, outputTokens, type Usage } from "./usage.ts";

const INPUTS = ["input", "cacheRead", "cacheWrite5m", "cacheWrite1h", "imageInput", "audioInput"] as const;
const OUTPUTS = ["output", "reasoning", "imageOutput", "audioOutput"] as const;

test("every bucket of tokens counts once, as input or as output", () => {
  expect(Object.keys(NO_USAGE).toSorted()).toEqual([...INPUTS, ...OUTPUTS].toSorted());
  for (const field of INPUTS) {
    const usage = { ...NO_USAGE, [field]: 7 };
    expect([field, inputTokens(usage), outputTokens(usage)]).toEqual([field, 7, 0]);
  }
  for (const field of OUTPUTS) {
    const usage = { ...NO_USAGE, [field]: 7 };
    expect([field, inputTokens(usage), outputTokens(usage)]).toEqual([field, 0, 7]);
  }
});

test("two usages add up field by field, those that only one of them has included", () => {
  const one: Usage = { ...NO_USAGE, input: 3, imageOutput: 10, images: 1, seconds: 4 };
  const other: Usage = { ...NO_USAGE, input: 2, imageOutput: 5, images: 1, webSearches: 6 };
  const sum = { ...NO_USAGE, input: 5, imageOutput: 15, images: 2, seconds: 4, webSearches: 6 };
  expect(addUsage(one, other)).toEqual(sum);
  expect(addUsage(other, one)).toEqual(sum);
  expect(one.images).toBe(1);
});
