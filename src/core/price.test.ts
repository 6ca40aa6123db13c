import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  costOf,
  dearestPrice,
  foldUnpriced,
  parseTokenPrice,
  priceAt,
  type PriceRule,
  type Prices,
  type PriceSnapshot,
  rulesFor,
  TOKEN_BUCKETS,
} from "./price.ts";
import { NO_USAGE, type TokenUsage } from "./usage.ts";

const RUNS = {
  seed: Number(process.env.SWITCHYARD_TEST_SEED ?? "1"),
  numRuns: process.env.SWITCHYARD_TEST_LONG === "1" ? 20_000 : 1_000,
};
const NOON = Date.UTC(2026, 10, 21, 12, 30);
const flat = (price: bigint): readonly PriceRule[] => [{ when: {}, price }];
const at = (prices: Prices, pricedAtMs = NOON): PriceSnapshot => ({ version: "v", prices, pricedAtMs });
const used = (more: Partial<TokenUsage>): TokenUsage => ({ ...NO_USAGE, ...more });

describe("a token is charged in its own bucket, or its parent's", () => {
  const prices: Prices = { input: flat(10n), output: flat(100n) };
  const cases: readonly { name: string; prices?: Prices; usage: Partial<TokenUsage>; cost: bigint }[] = [
    { name: "nothing costs nothing", usage: {}, cost: 0n },
    { name: "input and output", usage: { input: 3, output: 2 }, cost: 230n },
    { name: "cache read without a price is input", usage: { cacheRead: 3 }, cost: 30n },
    {
      name: "cache read with a price",
      prices: { ...prices, cache_read: flat(1n) },
      usage: { cacheRead: 3 },
      cost: 3n,
    },
    {
      name: "a cache write of an hour is one of 5 minutes",
      prices: { ...prices, cache_write_5m: flat(12n) },
      usage: { cacheWrite1h: 3 },
      cost: 36n,
    },
    { name: "pictures without a price are input", usage: { imageInput: 3 }, cost: 30n },
    { name: "reasoning without a price is output", usage: { reasoning: 3 }, cost: 300n },
    {
      name: "reasoning with a price",
      prices: { ...prices, reasoning: flat(7n) },
      usage: { reasoning: 3, output: 1 },
      cost: 121n,
    },
    {
      name: "a price of nothing is a price",
      prices: { ...prices, cache_read: flat(0n) },
      usage: { cacheRead: 3 },
      cost: 0n,
    },
    {
      name: "every bucket, none twice",
      prices: Object.fromEntries(TOKEN_BUCKETS.map((bucket, i) => [bucket, flat(10n ** BigInt(i))])),
      usage: Object.fromEntries(Object.keys(NO_USAGE).map((field) => [field, 1])),
      cost: 1_111_111_111n,
    },
  ];
  for (const { name, prices: own = prices, usage, cost } of cases) {
    test(name, () => expect(costOf(used(usage), at(own))).toBe(cost));
  }

  for (const field of ["audioInput", "audioOutput", "imageOutput"] as const) {
    test(`${field} without a price is never free: it throws, and folded it is plain`, () => {
      const usage = used({ [field]: 3 });
      expect(() => costOf(usage, at(prices))).toThrow("No price rule");
      expect(costOf(foldUnpriced(usage, prices), at(prices))).toBe(field === "audioInput" ? 30n : 300n);
    });
  }

  test("folding leaves alone what has a price", () => {
    const priced: Prices = { ...prices, audio_input: flat(50n) };
    expect(foldUnpriced(used({ audioInput: 3, input: 1 }), priced)).toEqual(
      used({ audioInput: 3, input: 1 }),
    );
  });
});

describe("the first rule that holds gives the price", () => {
  const tier: Prices = {
    input: [
      { when: { inputOver: 200 }, price: 20n },
      { when: {}, price: 10n },
    ],
  };
  const night: Prices = {
    input: [
      {
        when: {
          utcHours: [
            [0, 8],
            [20, 24],
          ],
        },
        price: 5n,
      },
      { when: {}, price: 10n },
    ],
  };
  const later: Prices = {
    input: [
      { when: { fromMs: NOON }, price: 30n },
      { when: {}, price: 10n },
    ],
  };
  const hour = (h: number, minute = 0): number => Date.UTC(2026, 0, 1, h, minute);
  const cases = [
    { name: "at the tier's bound", prices: tier, input: 200, price: 10n },
    { name: "one above it", prices: tier, input: 201, price: 20n },
    { name: "at the first minute of an hour", prices: night, ms: hour(20), price: 5n },
    { name: "in the last minute of the day", prices: night, ms: hour(23, 59), price: 5n },
    { name: "at midnight", prices: night, ms: hour(0), price: 5n },
    { name: "at the end of a range", prices: night, ms: hour(8), price: 10n },
    { name: "in between", prices: night, ms: hour(19, 59), price: 10n },
    { name: "at the date", prices: later, ms: NOON, price: 30n },
    { name: "a millisecond before", prices: later, ms: NOON - 1, price: 10n },
  ];
  for (const { name, prices, input = 0, ms = NOON, price } of cases) {
    test(name, () => expect(priceAt(at(prices, ms), "input", input)).toBe(price));
  }

  test("the tier is chosen by all input, cached and heard and seen", () => {
    const usage = used({ input: 1, cacheRead: 100, cacheWrite5m: 50, cacheWrite1h: 25, imageInput: 25 });
    expect(costOf(usage, at(tier))).toBe(201n * 20n);
    expect(costOf({ ...usage, input: 0 }, at(tier))).toBe(200n * 10n);
  });
});

const rules = fc
  .tuple(
    fc.array(
      fc.record({
        when: fc.record(
          {
            inputOver: fc.nat(50),
            fromMs: fc.constantFrom(NOON - 1, NOON, NOON + 1),
            utcHours: fc.constantFrom([[0, 12]] as [number, number][], [[12, 13]] as [number, number][]),
          },
          { requiredKeys: [] },
        ),
        price: fc.bigInt({ min: 0n, max: 99n }),
      }),
      { maxLength: 4 },
    ),
    fc.bigInt({ min: 0n, max: 99n }),
  )
  .map(([some, last]): readonly PriceRule[] =>
    some.concat({ when: {}, price: last } as (typeof some)[number]),
  );

test("the dearest price is the highest that any reachable input comes to, exactly", () => {
  fc.assert(
    fc.property(rules, fc.nat(60), (input, most) => {
      const snapshot = at({ input });
      let highest = 0n;
      for (let tokens = 0; tokens <= most; tokens += 1) {
        const price = priceAt(snapshot, "input", tokens);
        if (price > highest) highest = price;
      }
      expect(dearestPrice(snapshot, "input", most)).toBe(highest);
      expect(dearestPrice(snapshot, "cache_read", most)).toBe(highest);
    }),
    RUNS,
  );
});

test("a price is micro-credits a token: USD per million × 10,000, refused when finer or negative", () => {
  const cases = [
    [1, 10_000n],
    [0.0001, 1n],
    [12.5, 125_000n],
    [0, 0n],
    [0.00005, undefined],
    [-1, undefined],
    [NaN, undefined],
  ] as const;
  for (const [usd, price] of cases) expect(parseTokenPrice(usd)).toBe(price);
});

test("only sound, made pictures and the roots have no price but their own", () => {
  const roots = TOKEN_BUCKETS.filter(
    (bucket) => rulesFor({ input: flat(1n), output: flat(1n) }, bucket) === undefined,
  );
  expect(roots).toEqual(["audio_input", "image_output", "audio_output"]);
});
