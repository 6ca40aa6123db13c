import type { MicroCredits } from "../../core/credits.ts";
import type { TaskState } from "../../core/task.ts";
import type { MoneyCommand } from "../commands.ts";

/** Rows that a batch refers to, as they stand, kept from changing until the batch is written. */
export interface BooksState {
  readonly accounts: Map<string, AccountState>;
  readonly keys: Map<string, KeyState>;
  readonly holds: Map<string, HoldState>;
  /** Ledger entries by cause. */
  readonly entries: Map<string, EntryState>;
  readonly tasks: Map<string, TaskRow>;
  /** How many tasks of an account wait, by account. */
  readonly pending: Map<string, number>;
  /** How many tasks a provider runs, by provider. */
  readonly running: Map<string, number>;
  /** The time of the store; null where that is the time of whoever asks. */
  readonly storeMs: number | null;
}

/** State of nothing, to be filled with what was read. */
export function noState(): BooksState {
  return {
    accounts: new Map(),
    keys: new Map(),
    holds: new Map(),
    entries: new Map(),
    tasks: new Map(),
    pending: new Map(),
    running: new Map(),
    storeMs: null,
  };
}

export interface AccountState {
  readonly id: string;
  readonly active: boolean;
  readonly balance: MicroCredits;
  readonly held: MicroCredits;
}

export interface KeyState {
  readonly id: string;
  readonly account: string;
  readonly revoked: boolean;
  readonly expiresAtMs: number | null;
  readonly budget: MicroCredits | null;
  readonly spent: MicroCredits;
  readonly held: MicroCredits;
}

export interface HoldState {
  readonly id: string;
  readonly account: string;
  readonly key: string;
  readonly requestId: string;
  readonly model: string;
  readonly priceVersion: string;
  readonly amount: MicroCredits;
  readonly expectedCost: MicroCredits;
  readonly state: "held" | "settled" | "voided";
  readonly settled: MicroCredits | null;
  readonly endReason: string | null;
  readonly createdAtMs: number;
  /** The task that it pays for: only what ends the task ends the hold. */
  readonly task: string | null;
}

/** A task, as far as its commands change it or are decided by it. */
export interface TaskRow {
  readonly id: string;
  readonly account: string;
  readonly key: string;
  readonly hold: string;
  readonly state: TaskState;
  readonly epoch: number;
  readonly owner: string | null;
  /** By the store's clock; 0 once its owner has given it up. */
  readonly leaseUntilMs: number | null;
  readonly provider: string | null;
  readonly job: string | null;
  readonly attempts: number;
  /** Attempts that came to nothing for sure. */
  readonly refusals: number;
  readonly deadlineMs: number;
  readonly charge: MicroCredits | null;
  readonly filesUntilMs: number | null;
  readonly startedAtMs: number | null;
  readonly endedAtMs: number | null;
}

export interface EntryState {
  readonly account: string;
  readonly amount: MicroCredits;
  readonly balanceAfter: MicroCredits;
}

/** What has to be read before a batch can be decided. */
export interface References {
  readonly accounts: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
  readonly holds: ReadonlySet<string>;
  readonly causes: ReadonlySet<string>;
  readonly tasks: ReadonlySet<string>;
  /** Accounts whose waiting tasks are to be counted. */
  readonly pendingOf: ReadonlySet<string>;
  /** Providers whose running tasks are to be counted. */
  readonly runningAt: ReadonlySet<string>;
}

/** The cause of a grant's entry. */
export const grantCause = (grant: string): string => `${grant}:grant`;

/** The cause of what came to light of a hold after it had been given up. */
export const lateCause = (hold: string): string => `${hold}:late`;

/** The rows that `commands` refer to. */
export function referencesOf(commands: readonly MoneyCommand[]): References {
  const found = {
    accounts: new Set<string>(),
    keys: new Set<string>(),
    holds: new Set<string>(),
    causes: new Set<string>(),
    tasks: new Set<string>(),
    pendingOf: new Set<string>(),
    runningAt: new Set<string>(),
  };
  for (const command of commands) {
    found.accounts.add(command.account);
    if (command.kind === "grant") {
      found.causes.add(grantCause(command.cause));
      continue;
    }
    if ("task" in command) found.tasks.add(command.task);
    if (command.kind === "submit") found.pendingOf.add(command.account);
    if (command.kind === "claim") found.runningAt.add(command.provider);
    if (command.kind === "settle") found.causes.add(lateCause(command.hold));
    if (MOVES_CREDIT.has(command.kind)) {
      found.keys.add(command.key);
      found.holds.add(command.hold);
    }
  }
  return found;
}

/** Commands that a hold is made or ended by; others of a task move no credit. */
const MOVES_CREDIT: ReadonlySet<MoneyCommand["kind"]> = new Set([
  "hold",
  "settle",
  "void",
  "submit",
  "finish",
  "fail",
  "cancel",
]);
