import type { MicroCredits } from "../core/credits.ts";
import type { UsageFlag } from "../core/usage.ts";

/**
 * Everything that may happen to accounts, keys and money. Plain data: it can be queued, grouped, sent to a thread
 * and sent again. A command that was done before is answered as it was then and changes nothing.
 */
export type Command =
  | CreateAccount
  | Grant
  | IssueKey
  | ChangeKey
  | RevokeKey
  | HoldCredit
  | Settle
  | Void
  | VoidOrphans
  | Ping;

/** Opens an account with nothing on it. */
export interface CreateAccount {
  readonly kind: "create_account";
  readonly account: string;
  readonly name: string;
  readonly nowMs: number;
}

/** Gives credit, or takes it back when the amount is negative; never below what is held. */
export interface Grant {
  readonly kind: "grant";
  /** Names the grant: a second one with the same cause is the same grant. */
  readonly cause: string;
  readonly account: string;
  readonly amount: MicroCredits;
  readonly reason: string;
  readonly requestId: string;
  readonly nowMs: number;
}

export interface IssueKey {
  readonly kind: "issue_key";
  readonly key: string;
  readonly account: string;
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: readonly string[] | null;
  readonly expiresAtMs: number | null;
  readonly nowMs: number;
}

/** Changes what is named; what is absent stays. */
export interface ChangeKey {
  readonly kind: "change_key";
  readonly key: string;
  readonly name?: string;
  readonly models?: readonly string[] | null;
  readonly expiresAtMs?: number | null;
}

export interface RevokeKey {
  readonly kind: "revoke_key";
  readonly key: string;
  readonly nowMs: number;
}

/** Sets credit aside for one request. */
export interface HoldCredit {
  readonly kind: "hold";
  readonly hold: string;
  readonly account: string;
  readonly key: string;
  readonly requestId: string;
  readonly boot: string;
  /** What is held in any case. */
  readonly amount: MicroCredits;
  /** Room for output that the caller did not bound: as much as the balance allows, within these limits. */
  readonly elastic?: ElasticOutput;
  readonly priceVersion: string;
  readonly model: string;
  /** The rules of `priceVersion` as JSON, stored once. */
  readonly priceRules: string;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

/**
 * An output bound to be chosen by the free balance: at most `maxTokens`, at most what half the free balance pays,
 * at least `floorTokens` (or the hold is refused).
 */
export interface ElasticOutput {
  readonly tokenPrice: MicroCredits;
  readonly maxTokens: number;
  readonly floorTokens: number;
}

/** Ends a hold by charging what was used. */
export interface Settle {
  readonly kind: "settle";
  readonly hold: string;
  readonly used: MicroCredits;
  /** JSON: tokens by bucket. */
  readonly usage: string;
  readonly flags: readonly UsageFlag[];
  readonly reason: string;
  readonly nowMs: number;
}

/** Ends a hold without a charge. */
export interface Void {
  readonly kind: "void";
  readonly hold: string;
  readonly reason: string;
  readonly nowMs: number;
}

/** Voids every open hold that an earlier run of this process left behind. */
export interface VoidOrphans {
  readonly kind: "void_orphans";
  readonly boot: string;
  readonly nowMs: number;
}

/** Changes nothing that matters; its answer shows that the store takes what is written. */
export interface Ping {
  readonly kind: "ping";
}

/** What each command is answered with. `ok: false` is an expected outcome, told by its reason. */
export interface Answers {
  create_account: { readonly ok: true };
  grant:
    | { readonly ok: true; readonly balance: MicroCredits }
    | { readonly ok: false; readonly reason: "unknown_account" | "below_held" | "too_large" | "other_grant" };
  issue_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_account" };
  change_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_key" };
  revoke_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_key" };
  hold:
    | { readonly ok: true; readonly amount: MicroCredits; readonly outputTokens?: number }
    | { readonly ok: false; readonly reason: "insufficient_credits"; readonly free: MicroCredits };
  settle:
    | { readonly ok: true; readonly charged: MicroCredits; readonly lost: MicroCredits }
    | { readonly ok: false; readonly reason: "unknown_hold" | "voided" };
  void: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_hold" | "settled" };
  void_orphans: { readonly ok: true; readonly voided: number };
  ping: { readonly ok: true };
}

/** The answer to one command. */
export type AnswerTo<C extends Command> = Answers[C["kind"]];

/** What a thread sends back for one command: its answer, or that it failed in a way nobody expected. */
export type Outcome = { readonly answer: Answers[Command["kind"]] } | { readonly failure: string };
