import { MAX_MICRO_CREDITS, type MicroCredits } from "../../core/credits.ts";
import { isEnded, type TaskErrorType, type TaskKind, type TaskState } from "../../core/task.ts";
import type { AnswerTo, MoneyCommand } from "../commands.ts";
import type { AccountState, BooksState, KeyState, TaskRow } from "./state.ts";

/** What a batch changes, ready to be written as a whole. */
export interface Changes {
  readonly prices: Map<string, NewPrices>;
  readonly accounts: Map<string, AccountChange>;
  readonly keys: Map<string, KeyChange>;
  /** Holds that the batch makes; one that it ends as well stands here as it ended. */
  readonly newHolds: Map<string, NewHold>;
  readonly endedHolds: Map<string, HoldEnding>;
  readonly entries: NewEntry[];
  readonly requests: NewRequest[];
  /** Tasks that the batch makes, as they stand at its end. */
  readonly newTasks: Map<string, NewTask>;
  readonly changedTasks: Map<string, ChangedTask>;
}

/** By how much an account changes. */
export interface AccountChange {
  readonly id: string;
  readonly balance: MicroCredits;
  readonly held: MicroCredits;
}

/** By how much a key changes. */
export interface KeyChange {
  readonly id: string;
  readonly spent: MicroCredits;
  readonly held: MicroCredits;
}

export interface NewPrices {
  readonly version: string;
  readonly model: string;
  readonly rules: string;
  readonly createdAtMs: number;
}

export interface HoldEnding {
  readonly id: string;
  readonly state: "settled" | "voided";
  readonly settled: MicroCredits | null;
  readonly endReason: string;
  readonly endedAtMs: number;
}

export interface NewHold {
  readonly id: string;
  readonly account: string;
  readonly key: string;
  readonly requestId: string;
  readonly boot: string;
  readonly model: string;
  readonly amount: MicroCredits;
  readonly expectedCost: MicroCredits;
  readonly priceVersion: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  readonly task: string | null;
  readonly ending: HoldEnding | null;
}

export interface NewTask {
  readonly row: TaskRow;
  readonly kind: TaskKind;
  readonly requestId: string;
  readonly model: string;
  readonly terms: string;
  /** JSON array of sentences. */
  readonly warnings: string;
  readonly timeoutSec: number;
  readonly createdAtMs: number;
  readonly readyAtMs: number;
  /** The process whose request waits for its end. */
  readonly awaitedBy: string | null;
  /** Absent once it has ended: nothing is kept of what it was asked. */
  readonly payload?: string;
  readonly ending: TaskEnding | null;
}

/** A task that stood before. */
export interface ChangedTask {
  /** As it was read: it is changed only while it is still so. */
  readonly before: { readonly state: TaskState; readonly epoch: number };
  readonly row: TaskRow;
  readonly ending: TaskEnding | undefined;
}

/** What is said of a task once it has ended. */
export interface TaskEnding {
  readonly result: string | null;
  readonly errorType: TaskErrorType | null;
  readonly errorMessage: string | null;
}

export interface NewEntry {
  readonly cause: string;
  readonly account: string;
  readonly key: string | null;
  readonly counter: "funding" | "revenue" | "operator_loss";
  readonly amount: MicroCredits;
  readonly balanceAfter: MicroCredits;
  readonly kind: "grant" | "settle" | "loss";
  readonly requestId: string;
  readonly reason: string;
  readonly createdAtMs: number;
}

export interface NewRequest {
  readonly id: string;
  readonly account: string;
  readonly key: string;
  readonly hold: string;
  readonly model: string;
  readonly provider: string | null;
  readonly outcome: string;
  readonly charge: MicroCredits;
  readonly priceVersion: string;
  readonly usage: string | null;
  readonly flags: string | null;
  readonly attempts: string;
  readonly admittedAtMs: number;
  readonly heldAtMs: number;
  readonly firstByteAtMs: number | null;
  readonly endedAtMs: number;
  readonly settledAtMs: number;
}

/** Nothing to write yet. */
export function noChanges(): Changes {
  return {
    prices: new Map(),
    accounts: new Map(),
    keys: new Map(),
    newHolds: new Map(),
    endedHolds: new Map(),
    entries: [],
    requests: [],
    newTasks: new Map(),
    changedTasks: new Map(),
  };
}

/** Whether there is anything to write. */
export function hasChanges({ accounts, newTasks, changedTasks }: Changes): boolean {
  // Whatever moves credit changes an account, be it by nothing.
  return accounts.size > 0 || newTasks.size > 0 || changedTasks.size > 0;
}

/** What a command comes to. */
export interface Decided<C extends MoneyCommand> {
  readonly answer: AnswerTo<C>;
  /** Absent when nothing changes. */
  readonly effect?: Effect;
}

/** What one command does, all of it or nothing. */
export interface Effect {
  readonly account?: AccountChange;
  readonly key?: KeyChange;
  readonly prices?: NewPrices;
  readonly newHold?: NewHold;
  readonly ending?: HoldEnding;
  readonly entries?: readonly NewEntry[];
  readonly request?: NewRequest;
  readonly newTask?: NewTask;
  /** A task as it stands after the command, and what is said of it where the command ends it. */
  readonly task?: { readonly row: TaskRow; readonly ending?: TaskEnding };
}

/** Takes an effect into the state, for the commands after it, and into what is to be written. Throws before it changes anything. */
export function apply(state: BooksState, changes: Changes, effect: Effect): void {
  const account = effect.account === undefined ? undefined : moved(state, effect.account);
  const key = effect.key === undefined ? undefined : spent(state, effect.key);
  if (account !== undefined && effect.account !== undefined) {
    state.accounts.set(account.id, account);
    addAccount(changes, effect.account);
  }
  if (key !== undefined && effect.key !== undefined) {
    state.keys.set(key.id, key);
    addKey(changes, effect.key);
  }
  if (effect.prices !== undefined) changes.prices.set(effect.prices.version, effect.prices);
  if (effect.newHold !== undefined) makeHold(state, changes, effect.newHold);
  if (effect.ending !== undefined) endHold(state, changes, effect.ending);
  for (const entry of effect.entries ?? []) {
    state.entries.set(entry.cause, entry);
    changes.entries.push(entry);
  }
  if (effect.request !== undefined) changes.requests.push(effect.request);
  if (effect.newTask !== undefined) {
    count(state, undefined, effect.newTask.row);
    changes.newTasks.set(effect.newTask.row.id, effect.newTask);
  }
  if (effect.task !== undefined) changeTask(state, changes, effect.task);
}

function moved(state: BooksState, { id, balance, held }: AccountChange): AccountState {
  const before = state.accounts.get(id);
  if (before === undefined) throw new Error(`The account ${id} is not there.`);
  const after = { ...before, balance: before.balance + balance, held: before.held + held };
  if (after.held < 0n || after.balance < after.held || after.balance > MAX_MICRO_CREDITS)
    throw new Error(`The account ${id} would come to ${after.balance} with ${after.held} held.`);
  return after;
}

function spent(state: BooksState, change: KeyChange): KeyState {
  const before = state.keys.get(change.id);
  if (before === undefined) throw new Error(`The key ${change.id} is not there.`);
  const after = { ...before, spent: before.spent + change.spent, held: before.held + change.held };
  if (after.held < 0n) throw new Error(`The key ${change.id} would hold ${after.held}.`);
  return after;
}

function addAccount({ accounts }: Changes, change: AccountChange): void {
  const sum = accounts.get(change.id) ?? { balance: 0n, held: 0n };
  accounts.set(change.id, {
    id: change.id,
    balance: sum.balance + change.balance,
    held: sum.held + change.held,
  });
}

function addKey({ keys }: Changes, change: KeyChange): void {
  const sum = keys.get(change.id) ?? { spent: 0n, held: 0n };
  keys.set(change.id, { id: change.id, spent: sum.spent + change.spent, held: sum.held + change.held });
}

function makeHold(state: BooksState, changes: Changes, made: NewHold): void {
  state.holds.set(made.id, { ...made, state: "held", settled: null, endReason: null });
  changes.newHolds.set(made.id, made);
}

function endHold(state: BooksState, changes: Changes, ending: HoldEnding): void {
  const before = state.holds.get(ending.id);
  if (before !== undefined) state.holds.set(ending.id, { ...before, ...ending });
  const made = changes.newHolds.get(ending.id);
  if (made === undefined) changes.endedHolds.set(ending.id, ending);
  else changes.newHolds.set(ending.id, { ...made, ending });
}

function changeTask(state: BooksState, changes: Changes, { row, ending }: NonNullable<Effect["task"]>): void {
  const read = state.tasks.get(row.id);
  if (read === undefined) throw new Error(`The task ${row.id} is not there.`);
  count(state, read, row);
  const made = changes.newTasks.get(row.id);
  if (made !== undefined) {
    const { payload, ...rest } = made;
    const kept = isEnded(row.state) || payload === undefined ? {} : { payload };
    changes.newTasks.set(row.id, { ...rest, ...kept, row, ending: ending ?? made.ending });
    return;
  }
  const changed = changes.changedTasks.get(row.id);
  changes.changedTasks.set(row.id, {
    before: changed?.before ?? { state: read.state, epoch: read.epoch },
    row,
    ending: ending ?? changed?.ending,
  });
}

/** Puts a task into the state, and into the counts of those that wait and run, as far as anybody asks for them. */
function count({ tasks, pending, running }: BooksState, before: TaskRow | undefined, row: TaskRow): void {
  if (before?.state === "pending") add(pending, before.account, -1);
  if (row.state === "pending") add(pending, row.account, 1);
  if (before?.state === "running") add(running, before.provider, -1);
  if (row.state === "running") add(running, row.provider, 1);
  tasks.set(row.id, row);
}

function add(counts: Map<string, number>, name: string | null, by: number): void {
  const known = name === null ? undefined : counts.get(name);
  if (name !== null && known !== undefined) counts.set(name, known + by);
}
