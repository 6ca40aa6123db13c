import type { MicroCredits } from "../core/money/credits.ts";
import type { KeyLimits } from "../core/rate-limits.ts";
import type { UsageFlag } from "../core/money/usage.ts";
import type { AuditMark } from "./rows.ts";
import type { HoldCredit, HoldRefusal, RequestTimeline, ServedModel } from "./hold-commands.ts";
import type { TaskAnswers, TaskCommand } from "./task-commands.ts";

export type {
  Attempt,
  ElasticOutput,
  HoldCredit,
  HoldRefusal,
  RequestTimeline,
  ServedModel,
} from "./hold-commands.ts";

/**
 * Every change to accounts, keys and money. Plain data: it can be queued, grouped, sent to a thread and sent again. A
 * command that was done before gets its earlier answer and changes nothing.
 */
export type Command = MoneyCommand | RecordCommand;

/** Commands that move credit or a task's state. They are decided together, over the rows they refer to. */
export type MoneyCommand = Grant | HoldCredit | Settle | Void | TaskCommand;

/** Commands that write a fact and move no credit: one statement each. */
export type RecordCommand =
  | CreateAccount
  | RenameAccount
  | CloseAccount
  | IssueKey
  | ChangeKey
  | RevokeKey
  | RevokeKeys
  | Remember
  | SessionCommand
  | Heartbeat
  | Leave
  | ForgetTasks
  | MarkAudited
  | Ping;

/** Gives credit, or takes it back when the amount is negative; never below the held amount. */
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

/** Ends a hold by charging the usage. */
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
 * Outcomes of holds that ended before their request could settle. The process died, or the hold expired. The charge
 * could not be written, and the client got an error. Or a task failed that a provider may have worked on for nothing.
 * The expected cost is booked as the operator's loss, until a late settlement tells it exactly.
 */
export const ABANDONED = ["process_died", "expired", "unwritten", "unfinished_upstream"] as const;
export type Abandonment = (typeof ABANDONED)[number];

interface HoldEnd {
  readonly hold: string;
  readonly account: string;
  readonly key: string;
  /** How the request ended, in one word. */
  readonly outcome: string;
  /** Facts of the request; unknown where its process died. */
  readonly timeline?: RequestTimeline;
  /** Absent where the hold's own model served, or none did. */
  readonly served?: ServedModel | undefined;
  /** What the operator owes providers for the request; absent where that is not known. */
  readonly cost?: MicroCredits | undefined;
  readonly nowMs: number;
}

/** Opens an account with a balance of 0. */
export interface CreateAccount {
  readonly kind: "create_account";
  readonly account: string;
  readonly name: string;
  readonly nowMs: number;
}

export interface RenameAccount {
  readonly kind: "rename_account";
  readonly account: string;
  readonly name: string;
}

/**
 * Closes an account for ever: no hold is made of it any more, no task of it is begun, no credit is given to it. What it
 * holds already is charged or freed as ever.
 */
export interface CloseAccount {
  readonly kind: "close_account";
  readonly account: string;
}

/** Issues a key of an account that is open. */
export interface IssueKey {
  readonly kind: "issue_key";
  readonly key: string;
  readonly account: string;
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: readonly string[] | null;
  /** The most that the key may ever spend; null for no budget. */
  readonly budget: MicroCredits | null;
  /** Absent for none. */
  readonly limits?: KeyLimits;
  /** Whether its requests may ask for a route; absent: no. */
  readonly routes?: boolean;
  readonly expiresAtMs: number | null;
  readonly nowMs: number;
}

/** Changes the members that are present; absent ones stay. */
export interface ChangeKey {
  readonly kind: "change_key";
  readonly key: string;
  readonly name?: string;
  readonly models?: readonly string[] | null;
  readonly budget?: MicroCredits | null;
  /** Each limit by itself: an absent one stays. */
  readonly limits?: Partial<KeyLimits>;
  readonly routes?: boolean;
  readonly expiresAtMs?: number | null;
}

export interface RevokeKey {
  readonly kind: "revoke_key";
  readonly key: string;
  readonly nowMs: number;
}

/** Revokes all keys of an account. */
export interface RevokeKeys {
  readonly kind: "revoke_keys";
  readonly account: string;
  readonly nowMs: number;
}

/** Stores a fact of the installation, unless one of this name has another value than `instead`. */
export interface Remember {
  readonly kind: "remember";
  readonly name: string;
  readonly value: string;
  readonly instead?: string;
}

/** Commands of the console's sessions. */
export type SessionCommand = OpenSession | SeeSession | EndSession | ForgetSessions;

/** Opens a session of the console: of an operator by the hash of the admin token, or of a key. */
export interface OpenSession {
  readonly kind: "open_session";
  /** The hash of its cookie. */
  readonly session: string;
  readonly opener: { readonly tokenHash: string } | { readonly keyId: string };
  readonly nowMs: number;
}

/** Notes that a session was used. */
export interface SeeSession {
  readonly kind: "see_session";
  readonly session: string;
  readonly nowMs: number;
}

export interface EndSession {
  readonly kind: "end_session";
  readonly session: string;
}

/** Ends sessions that were opened or last used by then, and those of any admin token but this one. */
export interface ForgetSessions {
  readonly kind: "forget_sessions";
  readonly openedByMs: number;
  readonly usedByMs: number;
  readonly tokenHash: string;
}

/** Renews the lease of the process: `leaseMs` from now by the store's clock. */
export interface Heartbeat {
  readonly kind: "heartbeat";
  readonly boot: string;
  readonly leaseMs: number;
  /** The steady time of the process, which is the store's clock where the store is embedded. */
  readonly steadyMs: number;
}

/** The process has ended in order, or another found it dead. */
export interface Leave {
  readonly kind: "leave";
  readonly boot: string;
  /** Set by another process, from its machine's time: then the row goes only where its lease has run out. */
  readonly deadAtMs?: number;
}

/** Deletes tasks that ended before then and have no files any more, at most this many at a time. */
export interface ForgetTasks {
  readonly kind: "forget_tasks";
  readonly beforeMs: number;
}

/** Stores how far the audit has come. */
export interface MarkAudited {
  readonly kind: "mark_audited";
  readonly marks: readonly AuditMark[];
}

/** Changes nothing that matters; its answer shows that the store takes writes. */
export interface Ping {
  readonly kind: "ping";
}

/** The answer to each command. `ok: false` is an expected outcome, told by its reason. */
export interface Answers extends TaskAnswers {
  grant:
    | { readonly ok: true; readonly balance: MicroCredits }
    | {
        readonly ok: false;
        readonly reason: "unknown_account" | "closed" | "below_held" | "too_large" | "other_grant";
      };
  hold:
    | { readonly ok: true; readonly amount: MicroCredits; readonly outputTokens?: number }
    | { readonly ok: false; readonly reason: HoldRefusal };
  /** A hold that was voided before is charged nothing: the usage is then the operator's loss. */
  settle:
    | { readonly ok: true; readonly charged: MicroCredits }
    | { readonly ok: false; readonly reason: "unknown_hold" };
  void: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_hold" | "settled" };
  create_account: { readonly ok: true };
  rename_account: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_account" };
  close_account: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_account" };
  /** Also for an account that is closed. */
  issue_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_account" };
  change_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_key" };
  revoke_key: { readonly ok: true } | { readonly ok: false; readonly reason: "unknown_key" };
  revoke_keys: { readonly ok: true };
  /** The value in force: this one, or the earlier one. */
  remember: { readonly ok: true; readonly value: string };
  open_session: { readonly ok: true };
  see_session: { readonly ok: true };
  end_session: { readonly ok: true };
  forget_sessions: { readonly ok: true };
  heartbeat: { readonly ok: true };
  leave: { readonly ok: true };
  forget_tasks: { readonly ok: true };
  mark_audited: { readonly ok: true };
  ping: { readonly ok: true };
}

/** The answer to one command. */
export type AnswerTo<C extends Command> = Answers[C["kind"]];

/** The outcome of one command of a batch: its answer, or an unexpected failure. */
export type Outcome = { readonly answer: Answers[Command["kind"]] } | Failure;

/** Why a command failed. */
export interface Failure {
  readonly failure: string;
  /** Present where the store is at fault: it may take the same command another time. */
  readonly passing?: true;
}

const MONEY = {
  grant: true,
  hold: true,
  settle: true,
  void: true,
  submit: true,
  claim: true,
  attempt: true,
  note_refusal: true,
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
  return (MONEY as Partial<Record<Command["kind"], true>>)[command.kind] === true;
}
