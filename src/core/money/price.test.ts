import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import {
  costOf,
  dearestPrice,
  foldUnpriced,
  parseTokenPrice,
  parseUnitPrice,
  priceAt,
  type PriceCondition,
  type PriceFacts,
  type PriceRule,
  type Prices,
  type PriceSnapshot,
  rulesFor,
  TOKEN_BUCKETS,
} from "./price.ts";
import { NO_USAGE, type Usage } from "./usage.ts";

const RUNS = runsOf(1_000, 20_000);
const NOON = Date.UTC(2026, 10, 21, 12, 30);
const flat = (price: bigint): readonly PriceRule[] => [{ when: {}, price }];
const at = (prices: Prices, pricedAtMs = NOON, facts: PriceFacts = {}): PriceSnapshot => ({
  version: "v",
  prices,
  pricedAtMs,
  facts,
});
const used = (more: Partial<Usage>): Usage => ({ ...NO_USAGE, ...more });

describe("a token is charged in its own bucket, or its parent's", () => {
  const prices: Prices = { input: flat(10n), output: flat(100n) };
  const cases: readonly { name: string; prices?: Prices; usage: Partial<Usage>; cost: bigint }[] = [
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
    { name: "images without a price are input", usage: { imageInput: 3 }, cost: 30n },
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

  test("a single token is folded too", () => {
    expect(foldUnpriced(used({ audioInput: 1 }), prices)).toEqual(used({ input: 1 }));
  });

  test("folding leaves alone what has a price", () => {
    const priced: Prices = { ...prices, audio_input: flat(50n) };
    expect(foldUnpriced(used({ audioInput: 3, input: 1 }), priced)).toEqual(
      used({ audioInput: 3, input: 1 }),
    );
  });
});

describe("a second, an image and a search are charged by the piece", () => {
  const prices: Prices = {
    input: flat(10n),
    second: flat(1_000n),
    image: flat(500n),
    web_search: flat(70n),
  };

  test("beside tokens, each at its own price", () => {
    expect(costOf(used({ input: 3, seconds: 5, images: 2, webSearches: 3 }), at(prices))).toBe(6_240n);
    expect(costOf(used({ seconds: 0 }), at(prices))).toBe(0n);
  });

  test("without a price they throw, and so does half a second", () => {
    for (const usage of [{ seconds: 1 }, { images: 1 }]) {
      expect(() => costOf(used(usage), at({ input: flat(1n), output: flat(1n) }))).toThrow("No price rule");
    }
    expect(() => costOf(used({ seconds: 1.5 }), at(prices))).toThrow(RangeError);
  });

  const folds: readonly { name: string; prices: Prices; usage: Partial<Usage>; want: Partial<Usage> }[] = [
    {
      name: "tokens of a model that is sold by the image are in the image's price",
      prices: { image: flat(5n) },
      usage: { images: 1, input: 9, imageOutput: 1_120 },
      want: { images: 1 },
    },
    {
      name: "an image's tokens are not charged as text beside the image",
      prices: { input: flat(1n), output: flat(2n), image: flat(5n) },
      usage: { images: 1, input: 9, output: 4, imageOutput: 1_120 },
      want: { images: 1, input: 9, output: 4 },
    },
    {
      name: "seconds of a model that is sold by the token are in the tokens' price",
      prices: { output: flat(7n) },
      usage: { seconds: 5, output: 108_900 },
      want: { output: 108_900 },
    },
    {
      name: "text from a model that sells only images is charged as they are",
      prices: { image_output: flat(30n) },
      usage: { images: 1, output: 4, reasoning: 3, imageOutput: 10 },
      want: { images: 0, imageOutput: 17 },
    },
    {
      name: "seconds without a price and without a token stay, to be refused",
      prices: { output: flat(7n) },
      usage: { seconds: 5 },
      want: { seconds: 5 },
    },
  ];
  for (const { name, prices: own, usage, want } of folds) {
    test(name, () => {
      const whole = (counts: Usage): Usage => ({ seconds: 0, images: 0, ...counts });
      expect(whole(foldUnpriced(used(usage), own))).toEqual(whole(used(want)));
    });
  }
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

  const asked: readonly { when: PriceCondition; facts?: PriceFacts; holds: boolean }[] = [
    { when: { resolution: ["720p", "1080p"] }, facts: { resolution: "1080p" }, holds: true },
    { when: { resolution: ["720p", "1080p"] }, facts: { resolution: "1080P" }, holds: true },
    { when: { resolution: ["720p", "1080p"] }, facts: { resolution: "4k" }, holds: false },
    { when: { resolution: ["720p"] }, facts: { size: "720p" }, holds: false },
    { when: { resolution: ["720p"] }, holds: false },
    { when: { size: ["1024x1024"] }, facts: { size: "1024x1024" }, holds: true },
    { when: { size: ["1024x1024"] }, facts: { size: "1024x768" }, holds: false },
    { when: { quality: ["high"] }, facts: { quality: "highest" }, holds: false },
    {
      when: { size: ["1024x1024"], quality: ["high"] },
      facts: { size: "1024x1024", quality: "low" },
      holds: false,
    },
    { when: { hasVideo: true }, facts: { hasVideo: true }, holds: true },
    { when: { hasVideo: true }, holds: false },
    { when: { hasVideo: false }, facts: { hasVideo: true }, holds: false },
    { when: { hasVideo: false }, holds: true },
  ];
  for (const { when, facts, holds } of asked) {
    test(`${JSON.stringify(when)} ${holds ? "holds" : "does not hold"} of ${JSON.stringify(facts ?? {})}`, () => {
      const rule: readonly PriceRule[] = [{ when, price: 2n }, ...flat(1n)];
      expect(priceAt(at({ second: rule }, NOON, facts), "second", 0)).toBe(holds ? 2n : 1n);
      const { facts: _, ...without } = at({ second: rule });
      if (facts === undefined) expect(priceAt(without, "second", 0)).toBe(holds ? 2n : 1n);
    });
  }

  test("the tier is chosen by all input, cached and heard and seen", () => {
    const usage = used({ input: 1, cacheRead: 100, cacheWrite5m: 50, cacheWrite1h: 25, imageInput: 25 });
    expect(costOf(usage, at(tier))).toBe(201n * 20n);
    expect(costOf({ ...usage, input: 0 }, at(tier))).toBe(200n * 10n);
  });
});

test("the dearest price is the highest up to the most input that there may be", () => {
  const rules: readonly PriceRule[] = [
    { when: { inputOver: 200 }, price: 7n },
    { when: { inputOver: 100 }, price: 20n },
    { when: { inputOver: 0 }, price: 10n },
    ...flat(5n),
  ];
  const cases = [
    [0, 5n],
    [1, 10n],
    [100, 10n],
    [101, 20n],
    [300, 20n],
  ] as const;
  for (const [most, dearest] of cases)
    expect(dearestPrice(at({ input: rules }), "input", most)).toBe(dearest);
  expect(dearestPrice(at({ input: flat(0n) }), "input", 5)).toBe(0n);
  expect(() => dearestPrice(at({}), "input", 5)).toThrow("No price rule");
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

test("only audio, made images and the roots have no price but their own", () => {
  const roots = TOKEN_BUCKETS.filter(
    (bucket) => rulesFor({ input: flat(1n), output: flat(1n) }, bucket) === undefined,
  );
  expect(roots).toEqual(["audio_input", "image_output", "audio_output"]);
});

test("a price is read from its decimal text: exact to the last place, and refused when one place finer", () => {
  const decimal = (digits: bigint, places: number): number => {
    const text = digits.toString().padStart(places + 1, "0");
    return Number(`${text.slice(0, -places)}.${text.slice(-places)}`);
  };
  const kinds = [
    { parse: parseTokenPrice, places: 4 },
    { parse: parseUnitPrice, places: 10 },
  ];
  fc.assert(
    fc.property(
      fc.bigInt({ min: 0n, max: 10n ** 14n - 1n }),
      fc.integer({ min: 1, max: 9 }),
      (digits, last) => {
        for (const { parse, places } of kinds) {
          expect(parse(decimal(digits, places))).toBe(digits);
          expect(parse(decimal(digits * 10n + BigInt(last), places + 1))).toBeUndefined();
        }
      },
    ),
    RUNS,
  );
});

test("a unit's price is micro-credits: USD × 10,000,000,000, refused when negative", () => {
  const cases = [
    [1, 10_000_000_000n],
    [0.134, 1_340_000_000n],
    [0.0000000001, 1n],
    [0.00000000005, undefined],
    [-1, undefined],
    [Infinity, undefined],
  ] as const;
  for (const [usd, micro] of cases) expect(parseUnitPrice(usd)).toBe(micro);
});
