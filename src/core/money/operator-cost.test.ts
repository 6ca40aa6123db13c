import { describe, expect, test } from "bun:test";
import { MAX_MICRO_CREDITS } from "./credits.ts";
import { operatorCost } from "./operator-cost.ts";
import type { PriceRule, Prices } from "./price.ts";
import { NO_USAGE } from "./usage.ts";

const NOON = Date.UTC(2026, 10, 21, 12);
const HOUR_MS = 60 * 60 * 1_000;
const flat = (price: bigint): readonly PriceRule[] => [{ when: {}, price }];
const AT_NOON = { pricedAtMs: NOON };
const COST: Prices = {
  input: [
    { when: { inputOver: 100 }, price: 7n },
    { when: { utcHours: [[12, 13]] }, price: 3n },
    ...flat(5n),
  ],
  cache_read: flat(1n),
  output: flat(11n),
};

describe("what the operator owes", () => {
  const usage = { ...NO_USAGE, input: 10, cacheRead: 20, output: 2, reasoning: 1 };

  test("is the usage by the route's cost, of the tier and the time of the request", () => {
    expect(operatorCost(COST, usage, AT_NOON)).toBe(10n * 3n + 20n + 3n * 11n);
    expect(operatorCost(COST, usage, { pricedAtMs: NOON + HOUR_MS })).toBe(10n * 5n + 20n + 3n * 11n);
    expect(operatorCost(COST, { ...usage, cacheRead: 91 }, AT_NOON)).toBe(10n * 7n + 91n + 3n * 11n);
    expect(operatorCost(COST, NO_USAGE, AT_NOON)).toBe(0n);
  });

  test("is exact beyond the numbers of 53 bits, as long as a balance could hold it", () => {
    const cost = { input: flat(3n), output: flat(1n) };
    const most = Number(MAX_MICRO_CREDITS / 3n);
    expect(operatorCost(cost, { ...NO_USAGE, input: most, output: 1 }, AT_NOON)).toBe(BigInt(most) * 3n + 1n);
    expect(operatorCost(cost, { ...NO_USAGE, input: most, output: 4 }, AT_NOON)).toBeUndefined();
    expect(operatorCost(cost, { ...NO_USAGE, input: Number.MAX_SAFE_INTEGER }, AT_NOON)).toBeUndefined();
  });

  test("is not known where the route has no cost, or none for what was used, however little", () => {
    expect(operatorCost(undefined, usage, AT_NOON)).toBeUndefined();
    expect(operatorCost({ output: flat(1n) }, usage, AT_NOON)).toBeUndefined();
    for (const field of ["audioInput", "audioOutput", "imageOutput", "webSearches"])
      expect(operatorCost(COST, { ...usage, [field]: 1 }, AT_NOON)).toBeUndefined();
    expect(operatorCost(COST, { ...usage, webSearches: 0 }, AT_NOON)).toBeDefined();
  });

  test("of images and videos goes by what was asked for, and by the count that the provider sells by", () => {
    const image = [{ when: { size: ["large"] }, price: 40n }, ...flat(20n)];
    const counted = { ...NO_USAGE, input: 9, imageOutput: 4_000, images: 2 };
    const asked = (size: string) => ({ ...AT_NOON, facts: { size } });
    expect(operatorCost({ image }, counted, asked("LARGE"))).toBe(80n);
    expect(operatorCost({ image }, counted, asked("small"))).toBe(40n);
    expect(operatorCost({ input: flat(2n), image_output: flat(3n) }, counted, asked("small"))).toBe(12_018n);
    expect(operatorCost({ second: flat(3n) }, { ...NO_USAGE, images: 2 }, asked("small"))).toBeUndefined();
  });
});
