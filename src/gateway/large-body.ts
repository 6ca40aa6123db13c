import type { Caller } from "../core/caller.ts";
import type { Clock } from "../core/time/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { Model } from "../core/model.ts";
import { type PriceBucket, rulesFor } from "../core/price.ts";
import type { Spendable } from "../ledger/reads/spendable.ts";
import type { Limiter } from "../limits/limiter.ts";
import { type Endpoint, modelsAt } from "./find-model.ts";
import { type LimitedCall, lookAtKeyLimits } from "./key-limits.ts";
import type { Offer } from "./offer.ts";
import { readStore } from "./store-read.ts";

/** What is asked before a large body is read. */
export interface LargeBodyServices {
  readonly limiter: Limiter;
  readonly clock: Clock;
  offer(): Offer;
  /** What a key may spend, as the store has it now. */
  spendable(keyId: string): Promise<Spendable | undefined>;
}

/** A request of which only the head has come, for something that is paid for. */
export interface LargeBodyRequest extends LimitedCall {
  readonly caller: Caller;
  readonly endpoint: Endpoint;
  /** What the path names as the model, where it does. */
  readonly model?: string;
}

/**
 * Refuses what its body would not save: a key that is at one of its limits (looked at, not counted), and one that has
 * nothing to spend where every model that the request can mean costs something. Whatever else is wrong with the request
 * is told once its body has been read. Throws the 429, or 503, and the 402 that the request would have come to.
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

/** What every answer has at least one of, by what the model is sold by. */
const ALWAYS: readonly PriceBucket[] = ["input", "output", "image_output", "second", "image"];

/** Whether there is a price of something that every answer has, whenever it is asked for. */
function alwaysCosts({ prices }: Model): boolean {
  return ALWAYS.some((bucket) => rulesFor(prices, bucket)?.every(({ price }) => price > 0n) === true);
}
