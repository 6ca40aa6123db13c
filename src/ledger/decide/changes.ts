import { MAX_MICRO_CREDITS, type MicroCredits } from "../../core/money/credits.ts";
import { isEnded, type TaskState } from "../../core/task.ts";
import type { AnswerTo, MoneyCommand } from "../commands.ts";
import type { AccountRow, EntryRow, HoldRow, KeyRow, PriceVersionRow, RequestRow, TaskRow } from "../rows.ts";
import type { BooksState } from "./state.ts";

/** The changes of a batch, ready to be written together. Rows are as they are at its end. */
export interface Changes {
  readonly prices: Map<string, PriceVersionRow>;
  readonly accounts: Map<string, AccountChange>;
  readonly keys: Map<string, KeyChange>;
  /** Holds that the batch makes, also those that it ends. */
  readonly newHolds: Map<string, HoldRow>;
  readonly endedHolds: Map<string, HoldRow>;
  readonly entries: EntryRow[];
  readonly requests: RequestRow[];
  readonly newTasks: Map<string, TaskRow>;
  readonly changedTasks: Map<string, ChangedTask>;
  /** The sealed requests of new tasks, by task; kept until the task ends. */
  readonly payloads: Map<string, Uint8Array>;
  /** Tasks whose payload is deleted. */
  readonly endedTasks: Set<string>;
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

/** A task that existed before: it is changed only while it is as it was read. */
export interface ChangedTask extends TaskRow {
  readonly was: TaskState;
  readonly atEpoch: number;
}

/** Changes without anything to write. */
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
    payloads: new Map(),
    endedTasks: new Set(),
  };
}

/** Whether there is anything to write. */
export function hasChanges({ accounts, changedTasks }: Changes): boolean {
  // Every command that moves credit or makes a task changes an account, even by 0.
  return accounts.size > 0 || changedTasks.size > 0;
}

/** The result of a command. */
export interface Decided<C extends MoneyCommand> {
  readonly answer: AnswerTo<C>;
  /** Absent when nothing changes. */
  readonly effect?: Effect;
}

/** The effect of one command, all of it or nothing. A hold and a task are as they are after it. */
export interface Effect {
  readonly account?: AccountChange;
  readonly key?: KeyChange;
  readonly prices?: PriceVersionRow | undefined;
  readonly hold?: HoldRow;
  readonly entries?: readonly EntryRow[];
  readonly request?: RequestRow;
  readonly task?: TaskRow;
  /** The sealed request of a task that the command makes. */
  readonly payload?: Uint8Array;
}

/** Applies an effect to the state, for later commands, and to the changes. Throws before it changes anything. */
export function apply(state: BooksState, changes: Changes, effect: Effect): void {
  const account = effect.account === undefined ? undefined : moved(state, effect.account);
  const key = effect.key === undefined ? undefined : spent(state, effect.key);
  if (account !== undefined) state.accounts.set(account.id, account);
  if (effect.account !== undefined) addAccount(changes, effect.account);
  if (key !== undefined) state.keys.set(key.id, key);
  if (effect.key !== undefined) addKey(changes, effect.key);
  if (effect.prices !== undefined) changes.prices.set(effect.prices.version, effect.prices);
  if (effect.hold !== undefined) putHold(state, changes, effect.hold);
  for (const entry of effect.entries ?? []) {
    state.entries.set(entry.cause, entry);
    changes.entries.push(entry);
  }
  if (effect.request !== undefined) changes.requests.push(effect.request);
  if (effect.task !== undefined) putTask(state, changes, effect.task);
  if (effect.task !== undefined && effect.payload !== undefined)
    changes.payloads.set(effect.task.id, effect.payload);
}

function moved(state: BooksState, { id, balance, held }: AccountChange): AccountRow {
  const before = state.accounts.get(id);
  if (before === undefined) throw new Error(`The account ${id} is not there.`);
  const after = { ...before, balance: before.balance + balance, held: before.held + held };
  if (after.held < 0n || after.balance < after.held || after.balance > MAX_MICRO_CREDITS)
    throw new Error(`The account ${id} would come to ${after.balance} with ${after.held} held.`);
  return after;
}

function spent(state: BooksState, change: KeyChange): KeyRow {
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

function putHold({ holds }: BooksState, { newHolds, endedHolds }: Changes, hold: HoldRow): void {
  const isNew = !holds.has(hold.id) || newHolds.has(hold.id);
  (isNew ? newHolds : endedHolds).set(hold.id, hold);
  holds.set(hold.id, hold);
}

function putTask(state: BooksState, changes: Changes, task: TaskRow): void {
  const { newTasks, changedTasks, payloads, endedTasks } = changes;
  const before = state.tasks.get(task.id);
  count(state, before, task);
  if (before === undefined || newTasks.has(task.id)) newTasks.set(task.id, task);
  else {
    const { was, atEpoch } = changedTasks.get(task.id) ?? { was: before.state, atEpoch: before.epoch };
    changedTasks.set(task.id, { ...task, was, atEpoch });
    if (isEnded(task.state)) endedTasks.add(task.id);
  }
  if (isEnded(task.state)) payloads.delete(task.id);
}

/** Puts a task into the state, and into the counts of pending and running tasks that the batch refers to. */
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
