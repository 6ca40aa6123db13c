import { MAX_MICRO_CREDITS, type MicroCredits } from "./credits.ts";
import {
  costOf,
  foldUnpriced,
  PRICE_BUCKETS,
  type Prices,
  type PriceSnapshot,
  rulesFor,
  USAGE_FIELDS,
} from "./price.ts";
import { type PricePlan, pricePlan } from "./price-plan.ts";
import type { Usage } from "./usage.ts";

/** The plan of what a provider charges the operator for a language model: made once for each route's cost. */
export function costPlan(cost: Prices, nowMs: number): PricePlan {
  // Nobody is charged by it: its version names nothing that is stored.
  return pricePlan({ prices: cost, priceVersion: "cost" }, nowMs);
}

/**
 * What the operator owes a provider for `usage`, as the provider counted it. The cost of its route decides, at the time
 * and for the facts of the request. `undefined` where that is not known: the route has no cost, or none for something
 * that was used, or the count cannot be true.
 */
export function operatorCost(
  cost: Prices | undefined,
  usage: Usage,
  { pricedAtMs, facts }: Pick<PriceSnapshot, "pricedAtMs" | "facts">,
): MicroCredits | undefined {
  if (cost === undefined) return undefined;
  const owed =
    facts === undefined
      ? costPlan(cost, pricedAtMs).cost(usage)
      : costOfMedia(usage, { version: "cost", prices: cost, pricedAtMs, facts });
  return owed === undefined || owed > MAX_MICRO_CREDITS ? undefined : owed;
}

/** Media are counted in tokens and by the piece: the count that the provider does not sell by is left out. */
function costOfMedia(usage: Usage, snapshot: PriceSnapshot): MicroCredits | undefined {
  const folded = foldUnpriced(usage, snapshot.prices);
  const isKnown = PRICE_BUCKETS.every(
    (bucket) => (folded[USAGE_FIELDS[bucket]] ?? 0) === 0 || rulesFor(snapshot.prices, bucket) !== undefined,
  );
  return isKnown ? costOf(folded, snapshot) : undefined;
}
