import type { MoneyCommand } from "../commands.ts";
import type { ProviderPlace } from "../task-commands.ts";
import type { AccountRow, EntryRow, HoldRow, KeyRow, TaskRow } from "../rows.ts";

/** Rows that a batch refers to, locked until the batch is written. */
export interface BooksState {
  readonly accounts: Map<string, AccountRow>;
  readonly keys: Map<string, KeyRow>;
  readonly holds: Map<string, HoldRow>;
  /** Ledger entries by cause. */
  readonly entries: Map<string, EntryRow>;
  readonly tasks: Map<string, TaskRow>;
  /** How many tasks of an account are pending, by account. */
  readonly pending: Map<string, number>;
  /** How many tasks a provider runs, by provider. */
  readonly running: Map<string, number>;
  /** The time of the store's server; null where the store is embedded, and the commands' times count. */
  readonly storeMs: number | null;
}

/** An empty state, to be filled with rows. */
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

/** References to the rows that must be read before a batch can be decided. */
export interface References {
  readonly accounts: ReadonlySet<string>;
  readonly keys: ReadonlySet<string>;
  readonly holds: ReadonlySet<string>;
  readonly causes: ReadonlySet<string>;
  readonly tasks: ReadonlySet<string>;
  /** Accounts whose pending tasks are to be counted. */
  readonly pendingOf: ReadonlySet<string>;
  /** Providers whose running tasks are to be counted. */
  readonly runningAt: ReadonlySet<string>;
}

/** References to nothing. */
export const NO_REFERENCES: References = {
  accounts: new Set(),
  keys: new Set(),
  holds: new Set(),
  causes: new Set(),
  tasks: new Set(),
  pendingOf: new Set(),
  runningAt: new Set(),
};

/** The cause of a grant's entry. */
export const grantCause = (grant: string): string => `${grant}:grant`;

/** The cause of the entry of a late settlement, after the hold was abandoned. */
export const lateCause = (hold: string): string => `${hold}:late`;

/** References to the rows that `commands` need. */
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
    const place = placeOf(command);
    if (place !== undefined) found.runningAt.add(place.provider);
    if (command.kind === "settle") found.causes.add(lateCause(command.hold));
    if (MOVES_CREDIT.has(command.kind)) {
      found.keys.add(command.key);
      found.holds.add(command.hold);
    }
  }
  return found;
}

/** The place at a provider that a command takes. */
function placeOf(command: MoneyCommand): ProviderPlace | undefined {
  if (command.kind === "claim") return command;
  return command.kind === "attempt" ? command.to : undefined;
}

/** Commands that make or end a hold; other commands of a task move no credit. */
const MOVES_CREDIT: ReadonlySet<MoneyCommand["kind"]> = new Set([
  "hold",
  "settle",
  "void",
  "submit",
  "finish",
  "fail",
  "cancel",
]);
