import type { Caller } from "../core/caller.ts";
import type { Clock } from "../core/time/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Model } from "../core/model.ts";
import { type PriceBucket, rulesFor } from "../core/money/price.ts";
import type { Spendable } from "../ledger/reads/spendable.ts";
import type { Limiter } from "../limits/limiter.ts";
import { type Endpoint, modelsAt } from "./find-model.ts";
import { type LimitedCall, lookAtKeyLimits } from "./key-limits.ts";
import type { Offer } from "./offer.ts";
import { readStore } from "./store-read.ts";

/** What the check before a large body needs. */
export interface LargeBodyServices {
  readonly limiter: Limiter;
  readonly clock: Clock;
  offer(): Offer;
  /** What a key may still spend. */
  spendable(keyId: string): Promise<Spendable | undefined>;
}

/** A paid request whose head has come, and not its body. */
export interface LargeBodyRequest extends LimitedCall {
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  /** The model that the path names, where it does. */
  readonly model?: string;
}

/**
 * Refuses a request that no body could save. Its key is at one of its limits (which counts nothing). Or the key has
 * nothing to spend while every model that the request can mean costs something. Other faults are found once the body
 * was read. Throws the 429, 503 or 402 that the whole request would have got.
 */
export async function refuseUnread(services: LargeBodyServices, request: LargeBodyRequest): Promise<void> {
  lookAtKeyLimits(services, request);
  const { caller, endpoint, model } = request;
  const models = modelsAt(services.offer().catalog, caller, endpoint, model);
  if (models.length === 0 || !models.every(alwaysCosts)) return;
  const spendable = await readStore(services.spendable(caller.keyId));
  if (spendable === undefined) return;
  if (spendable.free <= 0n)
    throw new GatewayError(
      "insufficient_credits",
      "The account has no free credit, and no model that this request could ask for is free. Add credit.",
    );
  if (spendable.budget !== null && spendable.budget <= 0n)
    throw new GatewayError("insufficient_credits", "The budget of this key is used up. Raise it.");
}

/** Every answer uses at least one of these buckets that its model has a price for. */
const ALWAYS: readonly PriceBucket[] = ["input", "output", "image_output", "second", "image"];

/** Whether something that every answer has is priced at any time. */
function alwaysCosts({ prices }: Model): boolean {
  return ALWAYS.some((bucket) => rulesFor(prices, bucket)?.every(({ price }) => price > 0n) === true);
}
