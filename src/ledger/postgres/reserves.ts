import type { MicroCredits } from "../../core/money/credits.ts";
import type { AnswerTo, HoldCredit, Outcome, Settle, Void } from "../commands.ts";
import { decide } from "../decide/books.ts";
import { type AccountChange, type Changes, type KeyChange, noChanges } from "../decide/changes.ts";
import { freeHold, hold as decideHold } from "../decide/holds.ts";
import { type BooksState, noState } from "../decide/state.ts";
import type { AccountRow, HoldRow, KeyRow, PriceVersionRow } from "../rows.ts";
import type { Intent } from "../intents.ts";
import type { AllotmentChange, MemoryChanges } from "./allotment-statements.ts";

/** The end of a hold. */
export type End = Settle | Void;

/**
 * An allotment of this process, and the holds it has made of it. They are decided as if the allotment were the whole
 * account: its amount is the balance.
 */
export interface Reserve {
  readonly id: string;
  readonly account: string;
  readonly key: string;
  /** One account, one key, and the open holds. */
  readonly state: BooksState;
  /** When a hold was last made of it, by the steady clock. */
  usedAtMs: number;
  /** No hold is made of it any more: it is on its way back. */
  isClosing: boolean;
}

/** An allotment without holds. */
export function newReserve(
  { id, account, key }: { readonly id: string; readonly account: string; readonly key: string },
  amount: MicroCredits,
  { expiresAtMs, nowMs }: { readonly expiresAtMs: number | null; readonly nowMs: number },
): Reserve {
  const state = noState();
  state.accounts.set(account, { id: account, status: "active", balance: amount, held: 0n });
  state.keys.set(key, {
    id: key,
    account,
    revokedAtMs: null,
    expiresAtMs,
    // What is left of a budget was looked at when the allotment was taken.
    budget: null,
    spent: 0n,
    held: 0n,
  });
  return { id, account, key, state, usedAtMs: nowMs, isClosing: false };
}

const accountOf = ({ state, account }: Reserve): AccountRow => state.accounts.get(account) as AccountRow;

/** What is allotted. */
export const amountOf = (reserve: Reserve): MicroCredits => accountOf(reserve).balance;

/** What is held of it. */
export const heldOf = (reserve: Reserve): MicroCredits => accountOf(reserve).held;

/** Goes on with another amount, or with less that is held. */
export function change(reserve: Reserve, amount: MicroCredits, held: MicroCredits): void {
  const account = accountOf(reserve);
  const key = reserve.state.keys.get(reserve.key) as KeyRow;
  reserve.state.accounts.set(account.id, {
    ...account,
    balance: account.balance + amount,
    held: account.held + held,
  });
  reserve.state.keys.set(key.id, { ...key, held: key.held + held });
}

/** Forgets a hold that stands in the tables now, or whose end does. */
export function dropHold(reserve: Reserve, id: string): void {
  const made = reserve.state.holds.get(id);
  if (made === undefined) return;
  reserve.state.holds.delete(id);
  change(reserve, 0n, -made.amount);
}

/** A hold as it was made, with its answer. */
export interface Made {
  readonly answer: Extract<AnswerTo<HoldCredit>, { readonly ok: true }>;
  readonly intent: Intent;
}

/**
 * Decides a hold over the allotment. `undefined` where only the whole account can tell: the allotment does not suffice,
 * or the bound on the output follows from what is free.
 */
export function decideIn({ state }: Reserve, command: HoldCredit): Made | undefined {
  const { answer, effect } = decideHold(state, command);
  if (!answer.ok || effect?.hold === undefined || effect.prices === undefined) return undefined;
  if (command.elastic !== undefined && answer.outputTokens !== command.elastic.maxTokens) return undefined;
  return { answer, intent: { hold: effect.hold, prices: effect.prices } };
}

/** Makes the hold that was decided. */
export function place(reserve: Reserve, { hold }: Intent): void {
  reserve.state.holds.set(hold.id, hold);
  change(reserve, 0n, hold.amount);
}

/** What ends of holds come to. */
export interface Ended {
  readonly saving: MemoryChanges;
  readonly outcomes: ReadonlyMap<End, Outcome>;
  /** Makes it true in memory, once it is durable. */
  apply(): void;
}

/** The prices of a version, as `given` or as they are known; `undefined` where they need not be written. */
export type PricesOf = (version: string, given?: PriceVersionRow) => PriceVersionRow | undefined;

/** Decides ends of open holds, each settled at no more than it holds. */
export function decideEnds(commands: ReadonlyMap<Reserve, readonly End[]>, pricesOf: PricesOf): Ended {
  const all = noChanges();
  const allotments: AllotmentChange[] = [];
  const outcomes = new Map<End, Outcome>();
  const decided: { readonly reserve: Reserve; readonly amount: bigint; readonly changes: Changes }[] = [];
  for (const [reserve, ends] of commands) {
    const { accounts, keys, holds } = reserve.state;
    const state = { ...noState(), accounts: new Map(accounts), keys: new Map(keys), holds: new Map(holds) };
    const { outcomes: answers, changes } = decide(state, ends);
    ends.forEach((end, i) => outcomes.set(end, answers[i] as Outcome));
    const { balance = 0n, held = 0n } = changes.accounts.get(reserve.account) ?? {};
    decided.push({ reserve, amount: balance, changes });
    addAccount(all, { id: reserve.account, balance, held: 0n });
    addKey(all, { id: reserve.key, spent: -balance, held: 0n });
    allotments.push({ ...reserve, less: -balance, held: heldOf(reserve) + held });
    addRows(all, changes, pricesOf);
  }
  return {
    saving: { changes: all, allotments },
    outcomes,
    apply() {
      for (const { reserve, amount, changes } of decided) {
        change(reserve, amount, 0n);
        for (const id of changes.endedHolds.keys()) dropHold(reserve, id);
      }
    },
  };
}

/** Holds that go to the tables as they are: they are no longer of the allotment, which gives back `more` beside. */
export function movedToTables(
  reserves: readonly Reserve[],
  { which, andRest }: { readonly which: (hold: HoldRow) => boolean; readonly andRest: boolean },
  pricesOf: PricesOf,
): Ended {
  const all = noChanges();
  const moved = reserves.map((reserve) => {
    const holds = [...reserve.state.holds.values()].filter(which);
    const amount = holds.reduce((sum, hold) => sum + hold.amount, 0n);
    return { reserve, holds, amount, less: andRest ? amountOf(reserve) : amount };
  });
  for (const { reserve, holds, amount } of moved) {
    addAccount(all, { id: reserve.account, balance: 0n, held: amount });
    addKey(all, { id: reserve.key, spent: 0n, held: amount });
    for (const hold of holds) {
      all.newHolds.set(hold.id, hold);
      addPrices(all, pricesOf(hold.priceVersion));
    }
  }
  return {
    saving: {
      changes: all,
      allotments: moved.map(({ reserve, less, amount }) => ({
        ...reserve,
        less,
        held: heldOf(reserve) - amount,
      })),
    },
    outcomes: new Map(),
    apply() {
      for (const { reserve, holds, less } of moved) {
        for (const { id } of holds) dropHold(reserve, id);
        change(reserve, -less, 0n);
      }
    },
  };
}

/**
 * Holds of an allotment that is gone: its process was taken for dead. Nothing is held for them any more; what they
 * probably cost is the operator's loss, until their settlement tells it exactly.
 */
export function abandoned(holds: readonly Intent[], nowMs: number): MemoryChanges {
  const all = noChanges();
  for (const { hold, prices } of holds) {
    const { hold: ended, entries = [], request } = freeHold(hold, { outcome: "process_died", nowMs });
    all.newHolds.set(hold.id, ended as HoldRow);
    all.prices.set(prices.version, prices);
    all.entries.push(...entries);
    if (request !== undefined) all.requests.push(request);
  }
  return { changes: all, allotments: [] };
}

function addRows(all: Changes, { prices, endedHolds, entries, requests }: Changes, pricesOf: PricesOf): void {
  for (const hold of endedHolds.values()) {
    all.newHolds.set(hold.id, hold);
    addPrices(all, pricesOf(hold.priceVersion));
  }
  for (const given of prices.values()) addPrices(all, pricesOf(given.version, given));
  all.entries.push(...entries);
  all.requests.push(...requests);
}

function addPrices({ prices }: Changes, known: PriceVersionRow | undefined): void {
  if (known !== undefined) prices.set(known.version, known);
}

function addAccount({ accounts }: Changes, { id, balance, held }: AccountChange): void {
  const sum = accounts.get(id);
  accounts.set(id, { id, balance: (sum?.balance ?? 0n) + balance, held: (sum?.held ?? 0n) + held });
}

function addKey({ keys }: Changes, { id, spent, held }: KeyChange): void {
  const sum = keys.get(id);
  keys.set(id, { id, spent: (sum?.spent ?? 0n) + spent, held: (sum?.held ?? 0n) + held });
}
