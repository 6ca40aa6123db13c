import type { MicroCredits } from "../../core/money/credits.ts";
import type { RecordCommand } from "../commands.ts";
import type { AccountChange, Changes, Effect, KeyChange } from "../decide/changes.ts";
import { type BooksState, noState, type References } from "../decide/state.ts";
import type { AccountRow, HoldRow, KeyRow, PriceVersionRow } from "../rows.ts";
import type { Held } from "../open-holds.ts";
import type { Intent } from "../intents.ts";

/**
 * Balances, budgets and open holds of requests, in memory: `held` of an account and a key counts these holds too, which
 * the tables never have while they are open.
 */
export interface LiveBooks {
  /** How often rows were dropped: rows that were asked for before that may be older than those that were dropped. */
  drops: number;
  /** Accounts and keys that are kept at least. */
  readonly kept: number;
  /** Rows are dropped when there are more accounts and keys. */
  mostRows: number;
  /** Each is told the accounts and keys that change. */
  readonly watching: Set<Set<string>>;
  /** Accounts, keys and open holds; nothing else. An account that is there has been read from the tables. */
  readonly state: BooksState;
  /** Prices of the open holds, by version. */
  readonly prices: Map<string, PriceVersionRow>;
}

/** Changes on their way to the disk, and what they take from the live books before they are there. */
export interface Taking {
  readonly changes: Changes;
  readonly accounts: ReadonlyMap<string, MicroCredits>;
  readonly keys: ReadonlyMap<string, MicroCredits>;
}

/** Accounts and keys that are kept in memory at least; those that nothing is held of may be dropped above that. */
const KEPT = 20_000;

/** Live books without any row. */
export function noLiveBooks(kept = KEPT): LiveBooks {
  return { drops: 0, kept, mostRows: kept, watching: new Set(), state: noState(), prices: new Map() };
}

/** Puts rows in that were read from the tables, unless they are there. */
export function admitRows({ state }: LiveBooks, { accounts, keys }: BooksState): void {
  for (const row of accounts.values()) if (!state.accounts.has(row.id)) state.accounts.set(row.id, row);
  for (const row of keys.values()) if (!state.keys.has(row.id)) state.keys.set(row.id, row);
}

/** Puts in a hold that an earlier run had made and not ended. Its account and its key are there. */
export function restoreHold({ state, prices }: LiveBooks, intent: Intent): void {
  const { hold } = intent;
  state.holds.set(hold.id, hold);
  prices.set(intent.prices.version, intent.prices);
  addHeld(state.accounts, hold.account, hold.amount);
  addHeld(state.keys, hold.key, hold.amount);
}

/** Sets credit aside as it was decided over these books. */
export function placeEffect({ state, prices }: LiveBooks, effect: Effect): void {
  const { account, key, hold } = effect;
  if (account !== undefined) addHeld(state.accounts, account.id, account.held);
  if (key !== undefined) addHeld(state.keys, key.id, key.held);
  if (hold !== undefined) state.holds.set(hold.id, hold);
  if (effect.prices !== undefined && !prices.has(effect.prices.version))
    prices.set(effect.prices.version, effect.prices);
}

/** The rows that a batch is decided over: a copy, which the decision uses up, with what was read from the tables. */
export function stateFor({ state }: LiveBooks, references: References, found: BooksState): BooksState {
  return {
    ...found,
    accounts: pick(state.accounts, references.accounts),
    keys: pick(state.keys, references.keys),
    holds: new Map([...found.holds, ...pick(state.holds, references.holds)]),
  };
}

/**
 * Takes from the live books what `changes` take, before they are written: no hold is made from it meanwhile. What they
 * give is given when they are durable, so that a write that fails leaves nothing to be taken back.
 */
export function take({ state }: LiveBooks, changes: Changes): Taking {
  const accounts = new Map<string, MicroCredits>();
  const keys = new Map<string, MicroCredits>();
  for (const { id, balance, held } of changes.accounts.values())
    if (held > balance) {
      accounts.set(id, held - balance);
      addHeld(state.accounts, id, held - balance);
    }
  for (const { id, spent, held } of changes.keys.values())
    if (spent + held > 0n) {
      keys.set(id, spent + held);
      addHeld(state.keys, id, spent + held);
    }
  return { changes, accounts, keys };
}

/** Gives back what was taken for changes that were not written. */
export function untake({ state }: LiveBooks, { accounts, keys }: Taking): void {
  for (const [id, amount] of accounts) addHeld(state.accounts, id, -amount);
  for (const [id, amount] of keys) addHeld(state.keys, id, -amount);
}

/** Makes changes true that are durable now. */
export function give(live: LiveBooks, taking: Taking): void {
  untake(live, taking);
  const { accounts, keys, holds } = live.state;
  const { changes } = taking;
  for (const change of changes.accounts.values()) {
    for (const changed of live.watching) changed.add(change.id);
    const row = accounts.get(change.id) as AccountRow;
    accounts.set(row.id, { ...row, balance: row.balance + change.balance, held: row.held + change.held });
  }
  for (const change of changes.keys.values()) {
    for (const changed of live.watching) changed.add(change.id);
    const row = keys.get(change.id) as KeyRow;
    keys.set(row.id, { ...row, spent: row.spent + change.spent, held: row.held + change.held });
  }
  for (const id of changes.endedHolds.keys()) holds.delete(id);
}

/**
 * The changes as the tables see them. A hold of a request comes to them when it has ended, with its prices. They never
 * counted it as held.
 */
export function tableChanges({ state, prices }: LiveBooks, changes: Changes): Changes {
  const accounts = new Map(changes.accounts);
  const keys = new Map(changes.keys);
  const newHolds = new Map(changes.newHolds);
  const endedHolds = new Map<string, HoldRow>();
  const needed = new Map(changes.prices);
  for (const hold of changes.endedHolds.values()) {
    if (!state.holds.has(hold.id)) {
      endedHolds.set(hold.id, hold);
      continue;
    }
    newHolds.set(hold.id, hold);
    addToChange(accounts, hold.account, hold.amount);
    addToChange(keys, hold.key, hold.amount);
    const known = prices.get(hold.priceVersion);
    if (known !== undefined) needed.set(known.version, known);
  }
  for (const [id, { balance, held }] of accounts) if (balance === 0n && held === 0n) accounts.delete(id);
  for (const [id, { spent, held }] of keys) if (spent === 0n && held === 0n) keys.delete(id);
  return { ...changes, prices: needed, accounts, keys, newHolds, endedHolds };
}

/** Goes on from rows that were read from the tables, whatever became of changes on their way there. */
export function reload({ state }: LiveBooks, found: BooksState): void {
  for (const { id, state: now } of found.holds.values()) if (now !== "held") state.holds.delete(id);
  const held = heldBy(state.holds.values());
  for (const row of found.accounts.values())
    state.accounts.set(row.id, { ...row, held: row.held + (held.accounts.get(row.id) ?? 0n) });
  for (const row of found.keys.values())
    state.keys.set(row.id, { ...row, held: row.held + (held.keys.get(row.id) ?? 0n) });
}

/** Follows a command that changed an account or keys in the tables. */
export function followRecord({ state: { accounts, keys } }: LiveBooks, command: RecordCommand): void {
  const account = command.kind === "close_account" ? accounts.get(command.account) : undefined;
  if (account !== undefined) accounts.set(account.id, { ...account, status: "disabled" });
  if (command.kind === "revoke_keys")
    for (const row of keys.values())
      if (row.account === command.account)
        keys.set(row.id, { ...row, revokedAtMs: row.revokedAtMs ?? command.nowMs });
  const row = "key" in command ? keys.get(command.key) : undefined;
  if (row === undefined) return;
  if (command.kind === "revoke_key")
    keys.set(row.id, { ...row, revokedAtMs: row.revokedAtMs ?? command.nowMs });
  if (command.kind === "change_key") {
    const { budget = row.budget, expiresAtMs = row.expiresAtMs } = command;
    keys.set(row.id, { ...row, budget, expiresAtMs });
  }
}

/** `references` with the rows in memory that `records` change. */
export function withRowsOf(
  records: readonly RecordCommand[],
  references: References,
  { state }: LiveBooks,
): References {
  const accounts = new Set(references.accounts);
  const keys = new Set(references.keys);
  for (const command of records) {
    if ("key" in command) keys.add(command.key);
    if (command.kind === "close_account") accounts.add(command.account);
    if (command.kind === "revoke_keys")
      for (const { id, account } of state.keys.values()) if (account === command.account) keys.add(id);
  }
  return { ...references, accounts, keys };
}

/** Drops accounts and keys that nothing is held of, once there are many. They are read again when they are needed. */
export function dropIdle(live: LiveBooks): void {
  const { accounts, keys, holds } = live.state;
  if (accounts.size + keys.size <= live.mostRows) return;
  live.drops += 1;
  const busy = new Set<string>();
  for (const { account, key } of holds.values()) busy.add(account).add(key);
  for (const id of accounts.keys()) if (!busy.has(id)) accounts.delete(id);
  for (const id of keys.keys()) if (!busy.has(id)) keys.delete(id);
  // Where most are busy, nothing is gained by looking again at once.
  live.mostRows = Math.max(live.kept, 2 * (accounts.size + keys.size));
}

/** What holds come to, for each account and each key. */
export function heldBy(holds: Iterable<HoldRow>): Held {
  const accounts = new Map<string, MicroCredits>();
  const keys = new Map<string, MicroCredits>();
  for (const { account, key, amount } of holds) {
    accounts.set(account, (accounts.get(account) ?? 0n) + amount);
    keys.set(key, (keys.get(key) ?? 0n) + amount);
  }
  return { accounts, keys };
}

function addHeld<Row extends AccountRow | KeyRow>(
  rows: Map<string, Row>,
  id: string,
  amount: MicroCredits,
): void {
  const row = rows.get(id) as Row;
  rows.set(id, { ...row, held: row.held + amount });
}

function addToChange<Change extends AccountChange | KeyChange>(
  changes: Map<string, Change>,
  id: string,
  held: MicroCredits,
): void {
  const change = changes.get(id) as Change;
  changes.set(id, { ...change, held: change.held + held });
}

function pick<Row>(rows: ReadonlyMap<string, Row>, ids: ReadonlySet<string>): Map<string, Row> {
  const picked = new Map<string, Row>();
  for (const id of ids) {
    const row = rows.get(id);
    if (row !== undefined) picked.set(id, row);
  }
  return picked;
}
