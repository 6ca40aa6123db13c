import type { MicroCredits } from "./credits.ts";
import type { PriceSnapshot } from "./price.ts";

declare const made: unique symbol;

/**
 * Credit set aside for one request. The ledger alone makes a hold, after it is durable. A call upstream needs one, so
 * no paid call goes without.
 */
export interface Hold {
  readonly [made]: true;
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly amount: MicroCredits;
  readonly snapshot: PriceSnapshot;
  /** Output tokens that an elastic hold has room for; absent when the amount was fixed. */
  readonly outputTokens?: number;
}
