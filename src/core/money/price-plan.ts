import type { MicroCredits } from "./credits.ts";
import {
  costOf,
  foldUnpriced,
  PRICE_BUCKETS,
  type PriceBucket,
  type PriceRule,
  type Prices,
  type PriceSnapshot,
  priceAt,
  ratesAt,
  rulesFor,
  USAGE_FIELDS,
} from "./price.ts";
import { inputTokens, type Usage } from "./usage.ts";

/** The prices of a language model for as long as no rule of the clock changes, worked out once for all requests. */
export interface PricePlan {
  /** Shared by all requests that are priced by this plan. Its moment is that of the first of them. */
  readonly snapshot: PriceSnapshot;
  /** The dearest price of `buckets` that at most `maxInput` tokens of input can come to; 0 where none has a price. */
  dearest(buckets: readonly PriceBucket[], maxInput: number): MicroCredits;
  /** What is charged of `usage` (see `foldUnpriced`), and its cost. */
  charge(usage: Usage): Charge;
  /** What `usage` costs as it is; `undefined` where something was used that has no price. */
  cost(usage: Usage): MicroCredits | undefined;
}

/** What a usage comes to. */
export interface Charge {
  readonly usage: Usage;
  readonly cost: MicroCredits;
  /** What each token or unit of it costs, as `PRICE_BUCKETS` has them. */
  readonly rates: readonly number[];
}

/** What prices are the rules of, and what names these. */
interface Priced {
  readonly prices: Prices;
  readonly priceVersion: string;
}

/** The prices beyond a number of input tokens. */
interface Tier {
  readonly over: number;
  /** By bucket, as `PRICE_BUCKETS` has them; NaN for one that has no price. */
  readonly rates: readonly number[];
  /** The dearest price of each bucket here and in the tiers below. */
  readonly dearest: ReadonlyMap<PriceBucket, MicroCredits>;
}

/** A plan, and the time in which each moment gives the same prices. */
interface TimedPlan {
  readonly plan: PricePlan;
  readonly fromMs: number;
  readonly untilMs: number;
}

const plans = new WeakMap<Prices, TimedPlan>();

/** The plan of a model's prices at a moment: made once, and anew when a rule of the clock changes. */
export function pricePlan({ prices, priceVersion }: Priced, nowMs: number): PricePlan {
  const known = plans.get(prices);
  if (known !== undefined && nowMs >= known.fromMs && nowMs < known.untilMs) return known.plan;
  const plan = createPlan({ version: priceVersion, prices, pricedAtMs: nowMs });
  plans.set(prices, { plan, ...timeOf(prices, nowMs) });
  return plan;
}

function createPlan(snapshot: PriceSnapshot): PricePlan {
  const [lowest, ...higher] = tiersOf(snapshot);
  const tierAt = (input: number): Tier => {
    let at = lowest;
    for (const tier of higher) if (input > tier.over) at = tier;
    return at;
  };
  return {
    snapshot,
    dearest(buckets, maxInput) {
      const { dearest } = tierAt(maxInput);
      let most = 0n;
      for (const bucket of buckets) {
        const price = dearest.get(bucket);
        if (price !== undefined && price > most) most = price;
      }
      return most;
    },
    charge(usage) {
      const tier = tierAt(inputTokens(usage));
      const cost = plainCost(usage, tier);
      // No part is larger than the sum: where that is exact, all parts were.
      if (Number.isSafeInteger(cost)) return { usage, cost: BigInt(cost), rates: tier.rates };
      const folded = foldUnpriced(usage, snapshot.prices);
      const { rates } = tierAt(inputTokens(folded));
      return { usage: folded, cost: costOf(folded, snapshot), rates };
    },
    cost(usage) {
      const cost = plainCost(usage, tierAt(inputTokens(usage)));
      if (Number.isSafeInteger(cost)) return BigInt(cost);
      return Number.isNaN(cost) ? undefined : costOf(usage, snapshot);
    },
  };
}

/** The cost as a number; NaN where something without a price was used. */
function plainCost(usage: Usage, { rates }: Tier): number {
  let cost = 0;
  for (let i = 0; i < FIELDS.length; i += 1) {
    const count = usage[FIELDS[i] as keyof Usage] ?? 0;
    if (count !== 0) cost += count * (rates[i] as number);
  }
  return cost;
}

const FIELDS = PRICE_BUCKETS.map((bucket) => USAGE_FIELDS[bucket]);

/** The tiers of the moment, the lowest first. */
function tiersOf(snapshot: PriceSnapshot): readonly [Tier, ...Tier[]] {
  const steps = new Set(rulesOf(snapshot.prices).map(({ when }) => when.inputOver ?? 0));
  const [first = Infinity, ...above] = [...steps.add(0)].sort((a, b) => a - b);
  const lowest = tierOf(snapshot, -1, first);
  const tiers: [Tier, ...Tier[]] = [lowest];
  for (const [i, over] of [first, ...above].entries())
    tiers.push(tierOf(snapshot, over, above[i] ?? Infinity, tiers.at(-1)));
  return tiers;
}

/** The tier from `over` to `upTo` tokens of input. */
function tierOf(snapshot: PriceSnapshot, over: number, upTo: number, below?: Tier): Tier {
  const dearest = new Map(below?.dearest);
  for (const bucket of PRICE_BUCKETS) {
    if (rulesFor(snapshot.prices, bucket) === undefined) continue;
    const price = priceAt(snapshot, bucket, upTo);
    if (price >= (dearest.get(bucket) ?? 0n)) dearest.set(bucket, price);
  }
  return { over, rates: ratesAt(snapshot, upTo), dearest };
}

const HOUR_MS = 60 * 60 * 1_000;

/** The time around a moment in which no rule begins or ends to hold. */
function timeOf(prices: Prices, nowMs: number): Omit<TimedPlan, "plan"> {
  const hourMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
  const changes = rulesOf(prices).flatMap(({ when: { fromMs = -Infinity, utcHours } }) =>
    utcHours === undefined ? [fromMs] : [fromMs, hourMs, hourMs + HOUR_MS],
  );
  return {
    fromMs: Math.max(-Infinity, ...changes.filter((atMs) => atMs <= nowMs)),
    untilMs: Math.min(Infinity, ...changes.filter((atMs) => atMs > nowMs)),
  };
}

function rulesOf(prices: Prices): readonly PriceRule[] {
  return Object.values(prices).flat();
}
