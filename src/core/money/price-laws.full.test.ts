import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import {
  costOf,
  dearestPrice,
  PRICE_BUCKETS,
  priceAt,
  type PriceCondition,
  type PriceFacts,
  type PriceRule,
  type Prices,
  type PriceSnapshot,
} from "./price.ts";
import { NO_USAGE, type Usage } from "./usage.ts";

const RUNS = runsOf(1_000, 20_000);
const NOON = Date.UTC(2026, 10, 21, 12, 30);
const flat = (price: bigint): readonly PriceRule[] => [{ when: {}, price }];
const at = (prices: Prices, facts: PriceFacts): PriceSnapshot => ({
  version: "v",
  prices,
  pricedAtMs: NOON,
  facts,
});

const price = fc.bigInt({ min: 0n, max: 99n });
const words = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 });
const still = {
  fromMs: fc.constantFrom(NOON - 1, NOON, NOON + 1),
  utcHours: fc.constantFrom([[0, 12]] as [number, number][], [[12, 13]] as [number, number][]),
  resolution: words,
  size: words,
  quality: words,
  hasVideo: fc.boolean(),
};
const condition = fc.record(
  { inputOver: fc.nat(50), ...still },
  { requiredKeys: [] },
) as fc.Arbitrary<PriceCondition>;
const rule: fc.Arbitrary<PriceRule> = fc.record({ when: condition, price });
const rules = fc
  .tuple(fc.array(rule, { maxLength: 4 }), price)
  .map(([some, last]): readonly PriceRule[] => some.concat(flat(last)));
const word = fc.constantFrom("a", "B", "c", "d");
const facts = fc.record(
  { resolution: word, size: word, quality: word, hasVideo: fc.boolean() },
  { requiredKeys: [] },
) as fc.Arbitrary<PriceFacts>;

test("the dearest price is the highest that any reachable input comes to, exactly", () => {
  fc.assert(
    fc.property(rules, facts, fc.nat(60), (input, asked, most) => {
      const snapshot = at({ input, second: input }, asked);
      let highest = 0n;
      for (let tokens = 0; tokens <= most; tokens += 1) {
        const price = priceAt(snapshot, "input", tokens);
        if (price > highest) highest = price;
      }
      expect(dearestPrice(snapshot, "input", most)).toBe(highest);
      expect(dearestPrice(snapshot, "cache_read", most)).toBe(highest);
      expect(dearestPrice(snapshot, "second", most)).toBe(highest);
    }),
    RUNS,
  );
});

test("a rule in front gives the price when it holds, and changes nothing when it does not", () => {
  fc.assert(
    fc.property(rule, rules, facts, fc.nat(60), (first, rest, asked, input) => {
      const priceBy = (image: readonly PriceRule[]): bigint => priceAt(at({ image }, asked), "image", input);
      const holds = priceBy([{ ...first, price: 100n }, ...flat(101n)]) === 100n;
      expect(priceBy([first, ...rest])).toBe(holds ? first.price : priceBy(rest));
    }),
    RUNS,
  );
});

test("a condition holds exactly when each of its parts does", () => {
  fc.assert(
    fc.property(condition, facts, fc.nat(60), (when, asked, input) => {
      const holds = (part: PriceCondition): boolean =>
        priceAt(at({ image: [{ when: part, price: 1n }, ...flat(0n)] }, asked), "image", input) === 1n;
      expect(holds(when)).toBe(Object.entries(when).every(([key, value]) => holds({ [key]: value })));
    }),
    RUNS,
  );
});

/** Rules whose higher tiers are never the cheaper ones, whatever is asked for. */
const rising = fc
  .array(
    fc.tuple(
      fc.record(still, { requiredKeys: [] }),
      fc.array(fc.tuple(fc.nat(50), price), { minLength: 1, maxLength: 3 }),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .map((groups): readonly PriceRule[] =>
    groups.flatMap(([shared, tiers], group) => {
      const overs = tiers.map(([over]) => over).sort((a, b) => b - a);
      const prices = tiers.map(([, each]) => each).sort((a, b) => Number(b - a));
      const when = (group === groups.length - 1 ? {} : shared) as PriceCondition;
      return prices.map((each, i): PriceRule =>
        i === prices.length - 1
          ? { when, price: each }
          : { when: { ...when, inputOver: overs[i]! }, price: each },
      );
    }),
  );
const everyPrice = fc.record(
  Object.fromEntries(PRICE_BUCKETS.map((bucket) => [bucket, rising])),
) as fc.Arbitrary<Prices>;
const NOTHING: Required<Usage> = { ...NO_USAGE, seconds: 0, images: 0, webSearches: 0 };
const FIELDS = Object.keys(NOTHING) as (keyof Usage)[];
const anyUsage = fc.record(
  Object.fromEntries(FIELDS.map((field) => [field, fc.nat(20)])),
) as unknown as fc.Arbitrary<Required<Usage>>;

test("more of anything never costs less, where no higher tier is cheaper", () => {
  fc.assert(
    fc.property(
      everyPrice,
      anyUsage,
      facts,
      fc.constantFrom(...FIELDS),
      fc.nat(60),
      (prices, usage, asked, field, more) => {
        const snapshot = at(prices, asked);
        const cost = costOf(usage, snapshot);
        expect(costOf({ ...usage, [field]: usage[field] + more }, snapshot)).toBeGreaterThanOrEqual(cost);
      },
    ),
    RUNS,
  );
});

test("what is used within a bound never costs more than the bound at the dearest prices", () => {
  const everyRule = fc.record(
    Object.fromEntries(PRICE_BUCKETS.map((bucket) => [bucket, rules])),
  ) as fc.Arbitrary<Prices>;
  fc.assert(
    fc.property(everyRule, anyUsage, facts, fc.nat(50), (prices, usage, asked, spare) => {
      const snapshot = at(prices, asked);
      const { seconds, images, webSearches, output, reasoning, imageOutput, audioOutput, ...inputs } = usage;
      const most = Object.values(inputs).reduce((sum, count) => sum + count, spare);
      const units = [seconds, images, webSearches];
      const counts = [...Object.values(inputs), output, reasoning, imageOutput, audioOutput, ...units];
      const ceiling = PRICE_BUCKETS.reduce(
        (sum, bucket, i) => sum + BigInt(counts[i]!) * dearestPrice(snapshot, bucket, most),
        0n,
      );
      expect(costOf(usage, snapshot)).toBeLessThanOrEqual(ceiling);
    }),
    RUNS,
  );
});
