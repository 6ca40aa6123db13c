import type { MicroCredits } from "./credits.ts";
import {
  PRICE_BUCKETS,
  type PriceBucket,
  type PriceSnapshot,
  possiblePrices,
  priceAt,
  USAGE_FIELDS,
} from "./price.ts";
import { inputTokens, type Usage } from "./usage.ts";

/** One part of a charge: the tokens or pieces of a bucket, each at the same price. */
export interface ChargeLine {
  /** `adjustment`: what the charge differs by from what the usage costs. */
  readonly bucket: PriceBucket | "adjustment";
  readonly quantity: number;
  /** For one token or piece; null for an adjustment, and where it is not known any more. */
  readonly price: MicroCredits | null;
  readonly credit: MicroCredits;
}

/** A charge, and what it was made from. */
export interface Charged {
  readonly usage: Usage;
  readonly snapshot: PriceSnapshot;
  /** Whether the facts of the snapshot are the request's: they are forgotten with its task. */
  readonly factsAreKnown: boolean;
  readonly charge: MicroCredits;
}

/**
 * The lines of a charge. Their credit adds up to it exactly. The balance, or a count that could not be true, may hold a
 * charge to less than its usage costs. The difference then has a line of its own.
 */
export function chargeLines({ usage, snapshot, factsAreKnown, charge }: Charged): readonly ChargeLine[] {
  const input = inputTokens(usage);
  const used = PRICE_BUCKETS.map((bucket) => ({ bucket, quantity: usage[USAGE_FIELDS[bucket]] ?? 0 })).filter(
    ({ quantity }) => quantity !== 0,
  );
  const prices = factsAreKnown
    ? used.map(({ bucket }) => priceAt(snapshot, bucket, input))
    : pricesThatGive(
        charge,
        used.map(({ bucket, quantity }) => ({
          quantity: BigInt(quantity),
          prices: possiblePrices(snapshot, bucket, input),
        })),
      );
  const lines = used.map(({ bucket, quantity }, i): ChargeLine => {
    const price = prices[i] ?? null;
    return { bucket, quantity, price, credit: BigInt(quantity) * (price ?? 0n) };
  });
  const rest = lines.reduce((left, { credit }) => left - credit, charge);
  return rest === 0n ? lines : [...lines, { bucket: "adjustment", quantity: 1, price: null, credit: rest }];
}

interface Possible {
  readonly quantity: bigint;
  readonly prices: readonly MicroCredits[];
}

/** A price for each that together come to `charge`; where there are none, those prices that are certain. */
function pricesThatGive(
  charge: MicroCredits,
  parts: readonly Possible[],
): readonly (MicroCredits | undefined)[] {
  return search(charge, parts) ?? parts.map(({ prices }) => (prices.length === 1 ? prices[0] : undefined));
}

function search(left: MicroCredits, [first, ...others]: readonly Possible[]): MicroCredits[] | undefined {
  if (first === undefined) return left === 0n ? [] : undefined;
  for (const price of first.prices) {
    const rest = search(left - first.quantity * price, others);
    if (rest !== undefined) return [price, ...rest];
  }
  return undefined;
}
