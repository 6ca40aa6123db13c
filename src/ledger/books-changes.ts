import { MAX_MICRO_CREDITS, type MicroCredits } from "../core/credits.ts";
import type { AccountState, BooksState, KeyState } from "./books-state.ts";

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
  readonly ending: HoldEnding | null;
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
  };
}

/** What one command does, all of it or nothing. */
export interface Effect {
  readonly account: AccountChange;
  readonly key?: KeyChange;
  readonly prices?: NewPrices;
  readonly newHold?: NewHold;
  readonly ending?: HoldEnding;
  readonly entries?: readonly NewEntry[];
  readonly request?: NewRequest;
}

/** Takes an effect into the state, for the commands after it, and into what is to be written. Throws before it changes anything. */
export function apply(state: BooksState, changes: Changes, effect: Effect): void {
  const account = moved(state, effect);
  const key = effect.key === undefined ? undefined : spent(state, effect.key);
  state.accounts.set(account.id, account);
  addAccount(changes, effect.account);
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
}

function moved(state: BooksState, { account: { id, balance, held } }: Effect): AccountState {
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
