import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import {
  costOf,
  dearestPrice,
  foldUnpriced,
  PRICE_BUCKETS,
  type PriceCondition,
  type PriceRule,
  type Prices,
  ratesAt,
  rulesFor,
  USAGE_FIELDS,
} from "./price.ts";
import { pricePlan } from "./price-plan.ts";
import { inputTokens, NO_USAGE, type Usage } from "./usage.ts";

const RUNS = runsOf(1_000, 20_000);
const HOUR_MS = 60 * 60 * 1_000;
const NOON = Date.UTC(2026, 10, 21, 12);
const flat = (price: bigint): readonly PriceRule[] => [{ when: {}, price }];
const planOf = (prices: Prices, nowMs = NOON) => pricePlan({ prices, priceVersion: "v" }, nowMs);

const condition = fc.record(
  {
    inputOver: fc.nat(50),
    fromMs: fc.constantFrom(NOON - HOUR_MS, NOON + HOUR_MS / 2),
    utcHours: fc.constantFrom([[0, 12]] as [number, number][], [[13, 14]] as [number, number][]),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<PriceCondition>;
const price = fc.bigInt({ min: 0n, max: 99n });
const rules = fc
  .tuple(fc.array(fc.record({ when: condition, price }), { maxLength: 4 }), price)
  .map(([some, last]): readonly PriceRule[] => some.concat(flat(last)));
const somePrices = fc
  .record(Object.fromEntries(PRICE_BUCKETS.map((bucket) => [bucket, rules])), { requiredKeys: [] })
  .map((prices): Prices => Object.assign({ input: flat(3n), output: flat(5n) }, prices));
const usages = fc.record(
  Object.fromEntries([...Object.keys(NO_USAGE), "webSearches"].map((field) => [field, fc.nat(20)])),
) as unknown as fc.Arbitrary<Usage>;
const moments = fc.array(fc.constantFrom(-2, -1, -0.6, 0, 0.4, 0.5, 0.9, 1, 1.5, 2), { minLength: 1 });

test("a plan says what the rules say, at whatever moments it is asked for", () => {
  fc.assert(
    fc.property(somePrices, usages, moments, fc.nat(200), (prices, usage, hours, most) => {
      for (const hour of hours) {
        const nowMs = NOON + hour * HOUR_MS;
        const snapshot = { version: "v", prices, pricedAtMs: nowMs };
        const plan = planOf(prices, nowMs);
        const folded = foldUnpriced(usage, prices);
        const cost = costOf(folded, snapshot);
        const rates = ratesAt(snapshot, inputTokens(folded));
        expect(plan.charge(usage)).toEqual({ usage: folded, cost, rates });
        const parts = PRICE_BUCKETS.map((bucket, i) => {
          const count = folded[USAGE_FIELDS[bucket]] ?? 0;
          return count === 0 ? 0 : count * (rates[i] as number);
        });
        expect(BigInt(parts.reduce((sum, part) => sum + part, 0))).toBe(cost);
        expect(costOf(folded, plan.snapshot)).toBe(costOf(folded, snapshot));
        for (const bucket of PRICE_BUCKETS) {
          const isSold = rulesFor(prices, bucket) !== undefined;
          expect(plan.dearest([bucket], most)).toBe(isSold ? dearestPrice(snapshot, bucket, most) : 0n);
        }
      }
    }),
    RUNS,
  );
});

describe("a plan", () => {
  const evening: PriceRule = { when: { utcHours: [[18, 24]] }, price: 9n };

  test("is shared by requests between which no price changes", () => {
    const prices = { input: [evening, ...flat(3n)], output: flat(5n) };
    const plan = planOf(prices);
    for (const later of [0, 1, HOUR_MS - 1]) expect(planOf(prices, NOON + later)).toBe(plan);
    expect(planOf(prices, NOON + 6 * HOUR_MS).dearest(["input"], 1)).toBe(9n);
    expect(planOf({ ...prices })).not.toBe(plan);
  });

  test("is made once where no price depends on the clock", () => {
    const prices = { input: flat(3n), output: flat(5n) };
    expect(planOf(prices, NOON + 1_000 * 24 * HOUR_MS)).toBe(planOf(prices));
  });

  test("charges each token at its price", () => {
    const usage = { ...NO_USAGE, input: 6, output: 10 };
    expect(planOf({ input: flat(3n), output: flat(5n) }).charge(usage).cost).toBe(68n);
  });

  test("names the version of its prices, and the moment of its first request", () => {
    const prices = { input: flat(3n), output: flat(5n) };
    planOf(prices);
    expect(planOf(prices, NOON + 1).snapshot).toEqual({ version: "v", prices, pricedAtMs: NOON });
  });

  test("has as the dearest of several the dearest of those that have a price", () => {
    const plan = planOf({ input: flat(3n), output: flat(5n) });
    expect(plan.dearest(["output", "input", "audio_input"], 1)).toBe(5n);
    expect(plan.dearest(["audio_input"], 1)).toBe(0n);
  });

  test("is exact beyond what a number holds", () => {
    const prices = { input: flat(2n ** 40n + 1n), output: flat(5n) };
    const usage = { ...NO_USAGE, input: 2 ** 20 + 1 };
    expect(planOf(prices).charge(usage).cost).toBe((2n ** 40n + 1n) * (2n ** 20n + 1n));
  });
});
