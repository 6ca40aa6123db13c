import type { MicroCredits } from "../core/credits.ts";
import type { KeyLimits } from "../core/rate-limits.ts";
import type { UsageFlag } from "../core/usage.ts";
import type { TaskAnswers, TaskCommand } from "./task-commands.ts";

/**
 * Everything that may happen to accounts, keys and money. Plain data: it can be queued, grouped, sent to a thread
 * and sent again. A command that was done before is answered as it was then and changes nothing.
 */
export type Command = MoneyCommand | RecordCommand;

/** Commands that move credit or a task's state. They are decided together, over the rows they refer to. */
export type MoneyCommand = Grant | HoldCredit | Settle | Void | TaskCommand;

/** Commands that write down a fact and move no credit: one statement each. */
export type RecordCommand =
  | CreateAccount
  | IssueKey
  | ChangeKey
  | RevokeKey
  | Remember
  | Heartbeat
  | Leave
  | MarkAudited
  | Ping;

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

/** Sets credit aside for one request. */
export interface HoldCredit {
  readonly kind: "hold";
  readonly hold: string;
  readonly account: string;
  readonly key: string;
  readonly requestId: string;
  readonly boot: string;
  readonly model: string;
  /** What is held in any case. */
  readonly amount: MicroCredits;
  /** Room for output that the caller did not bound: as much as the balance allows, within these limits. */
  readonly elastic?: ElasticOutput;
  /** What the operator is taken to have lost when this process dies before the hold has ended. */
  readonly expectedCost: MicroCredits;
  readonly priceVersion: string;
  /** The rules of `priceVersion` as JSON, stored once. */
  readonly priceRules: string;
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

/**
 * An output bound to be chosen by what may be spent: at most `maxTokens`, at most what half of that pays, at least
 * `floorTokens` (or the hold is refused).
 */
export interface ElasticOutput {
  readonly tokenPrice: MicroCredits;
  readonly maxTokens: number;
  readonly floorTokens: number;
}

/** Ends a hold by charging what was used. */
export interface Settle extends HoldEnd {
  readonly kind: "settle";
  readonly used: MicroCredits;
  /** JSON: counts by bucket. */
  readonly usage: string;
  readonly flags: readonly UsageFlag[];
}

/** Ends a hold without a charge. */
export interface Void extends HoldEnd {
  readonly kind: "void";
}

/**
 * Outcomes of holds that were given up before their request could settle: the process died, the hold's time was over,
 * or the charge could not be written and the client was told an error. The expected cost is booked as the operator's
 * loss, until a late settlement tells it exactly.
 */
export const ABANDONED = ["process_died", "expired", "unwritten"] as const;
export type Abandonment = (typeof ABANDONED)[number];

interface HoldEnd {
  readonly hold: string;
  readonly account: string;
  readonly key: string;
  /** How the request ended, in one word. */
  readonly outcome: string;
  /** What is told of the request; unknown of one whose process died. */
  readonly timeline?: RequestTimeline;
  readonly nowMs: number;
}

/** When a request passed each point, and whom it was sent to. Times in milliseconds. */
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

/** Opens an account with nothing on it. */
export interface CreateAccount {
  readonly kind: "create_account";
  readonly account: string;
  readonly name: string;
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
  /** The most the key may ever spend; null for no bound. */
  readonly budget: MicroCredits | null;
  /** Absent for none. */
  readonly limits?: KeyLimits;
  readonly expiresAtMs: number | null;
  readonly nowMs: number;
}

/** Changes what is named; what is absent stays. */
export interface ChangeKey {
  readonly kind: "change_key";
  readonly key: string;
  readonly name?: string;
  readonly models?: readonly string[] | null;
  readonly budget?: MicroCredits | null;
  /** Each by itself: one that is absent stays. */
  readonly limits?: Partial<KeyLimits>;
  readonly expiresAtMs?: number | null;
}

export interface RevokeKey {
  readonly kind: "revoke_key";
  readonly key: string;
  readonly nowMs: number;
}

/** Writes a fact of the installation down, unless one of this name stands already with another value than `instead`. */
export interface Remember {
  readonly kind: "remember";
  readonly name: string;
  readonly value: string;
  readonly instead?: string;
}

/** Says that the process lives: its lease lasts from now, by the store's clock, for so long. */
export interface Heartbeat {
  readonly kind: "heartbeat";
  readonly boot: string;
  readonly leaseMs: number;
  /** The time of the machine, which is the store's clock where the store is embedded. */
  readonly nowMs: number;
}

/** Says that the process ends in order, or that another found it dead. */
export interface Leave {
  readonly kind: "leave";
  readonly boot: string;
  /** Set by another, by the time of the machine: then only a process whose lease has run out is forgotten. */
  readonly deadAtMs?: number;
}

/** Writes down how far the audit has come. */
export interface MarkAudited {
  readonly kind: "mark_audited";
  readonly marks: readonly AuditMark[];
}

/** An account or a key whose entries and requests up to here were found right. */
export interface AuditMark {
  readonly subject: string;
  readonly ledgerSeq: bigint;
  /** The account's balance, or what the key had spent. */
  readonly amount: MicroCredits;
  readonly requestSeq: bigint;
  readonly checkedAtMs: number;
}

/** Changes nothing that matters; its answer shows that the store takes what is written. */
export interface Ping {
  readonly kind: "ping";
}

/** What each command is answered with. `ok: false` is an expected outcome, told by its reason. */
export interface Answers extends TaskAnswers {
  grant:
    | { readonly ok: true; readonly balance: MicroCredits }
    | { readonly ok: false; readonly reason: "unknown_account" | "below_held" | "too_large" | "other_grant" };
  hold:
    | { readonly ok: true; readonly amount: MicroCredits; readonly outputTokens?: number }
    | { readonly ok: false; readonly reason: HoldRefusal };
  /** A hold that was voided before is charged nothing: what was used then is the operator's loss. */
  settle:
    | { readonly ok: true; readonly charged: MicroCredits }
    | { readonly ok: false; readonly reason: "unknown_hold" };
  void: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_hold" | "settled" };
  create_account: { readonly ok: true };
  issue_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_account" };
  change_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_key" };
  revoke_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_key" };
  /** The value that stands: this one, or the one that was there. */
  remember: { readonly ok: true; readonly value: string };
  heartbeat: { readonly ok: true };
  leave: { readonly ok: true };
  mark_audited: { readonly ok: true };
  ping: { readonly ok: true };
}

/** Why no credit was set aside: the account or the key has too little left, or the key may not be used any more. */
export type HoldRefusal = "insufficient_credits" | "budget_exceeded" | "key_not_live";

/** The answer to one command. */
export type AnswerTo<C extends Command> = Answers[C["kind"]];

/** What becomes of one command of a batch: its answer, or that it failed in a way nobody expected. */
export type Outcome = { readonly answer: Answers[Command["kind"]] } | { readonly failure: string };

const MONEY = {
  grant: true,
  hold: true,
  settle: true,
  void: true,
  submit: true,
  claim: true,
  attempt: true,
  note_job: true,
  renew: true,
  release: true,
  finish: true,
  fail: true,
  cancel: true,
  forget_files: true,
} as const satisfies Record<MoneyCommand["kind"], true>;

/** Whether the command moves credit. */
export function movesMoney(command: Command): command is MoneyCommand {
  return command.kind in MONEY;
}
