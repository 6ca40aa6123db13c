import type { MicroCredits } from "../core/money/credits.ts";

/** Sets credit aside for one request. */
export interface HoldCredit {
  readonly kind: "hold";
  readonly hold: string;
  readonly account: string;
  readonly key: string;
  readonly requestId: string;
  readonly boot: string;
  readonly model: string;
  /** The amount that is held in any case. */
  readonly amount: MicroCredits;
  /** Room for output that the caller did not bound: as much as the balance allows, within these limits. */
  readonly elastic?: ElasticOutput;
  /** The bound on the output is taken as it is, although other processes have credit of the account set aside. */
  readonly isBoundFinal?: true;
  /** The operator's expected loss when this process dies before the hold has ended. */
  readonly expectedCost: MicroCredits;
  readonly priceVersion: string;
  /** The rules of `priceVersion` as JSON, stored once. */
  readonly priceRules: string;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

/**
 * An output bound that the ledger chooses. It is at most `maxTokens` and at most what half of the spendable credit
 * pays. Below `floorTokens` the hold is refused.
 */
export interface ElasticOutput {
  readonly tokenPrice: MicroCredits;
  readonly maxTokens: number;
  readonly floorTokens: number;
}

/** Why no credit was set aside: the account or the key has too little left, or the key may not be used any more. */
export type HoldRefusal = "insufficient_credits" | "budget_exceeded" | "key_not_live";

/** The model that served a request in place of the one that its hold was made for, with its prices. */
export interface ServedModel {
  readonly model: string;
  readonly priceVersion: string;
  /** The rules of `priceVersion` as JSON, stored once. */
  readonly priceRules: string;
}

/** The times of a request in milliseconds, and its calls to providers. */
export interface RequestTimeline {
  readonly provider: string;
  readonly admittedAtMs: number;
  readonly heldAtMs: number;
  /** When the first byte of the provider's answer came; null when none did. */
  readonly firstByteAtMs: number | null;
  readonly endedAtMs: number;
  readonly attempts: readonly Attempt[];
}

/** One call to a provider. */
export interface Attempt {
  readonly provider: string;
  readonly upstream_id: string;
  readonly sent_at_ms: number;
  /** The provider's status; null when it gave none. */
  readonly status: number | null;
}
