import { MAX_MICRO_CREDITS } from "../../core/money/credits.ts";
import { apply, type Changes, type Decided, noChanges } from "./changes.ts";
import { type BooksState, grantCause } from "./state.ts";
import type { Grant, MoneyCommand, Outcome } from "../commands.ts";
import type { EntryRow } from "../rows.ts";
import { hold, settle, voidHold } from "./holds.ts";
import { decideTask } from "./tasks.ts";

/** The result of a batch: an answer to each command, and the changes that make these answers true. */
export interface Decision {
  readonly outcomes: readonly Outcome[];
  readonly changes: Changes;
}

/**
 * Decides the commands one after the other, as if each were alone: pure, and the same for every store. `state` has the
 * rows that they refer to and is used up. A command that breaks an invariant is answered with a failure and changes
 * nothing; its neighbours do not notice.
 */
export function decide(state: BooksState, commands: readonly MoneyCommand[]): Decision {
  const changes = noChanges();
  const outcomes = commands.map((command): Outcome => {
    try {
      const { answer, effect } = decideOne(state, command);
      if (effect !== undefined) apply(state, changes, effect);
      return { answer };
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error) };
    }
  });
  return { outcomes, changes };
}

function decideOne(state: BooksState, command: MoneyCommand): Decided<MoneyCommand> {
  switch (command.kind) {
    case "grant":
      return grant(state, command);
    case "hold":
      return hold(state, command);
    case "settle":
      return settle(state, command);
    case "void":
      return voidHold(state, command);
    default:
      return decideTask(state, command);
  }
}

function grant(state: BooksState, command: Grant): Decided<Grant> {
  const cause = grantCause(command.cause);
  const before = state.entries.get(cause);
  if (before !== undefined) {
    const same = before.account === command.account && before.amount === command.amount;
    return {
      answer: same ? { ok: true, balance: before.balanceAfter } : { ok: false, reason: "other_grant" },
    };
  }
  const account = state.accounts.get(command.account);
  if (account === undefined) return { answer: { ok: false, reason: "unknown_account" } };
  // What is left of a closed account can be taken back.
  if (command.amount > 0n && account.status !== "active") return { answer: { ok: false, reason: "closed" } };
  const balance = account.balance + command.amount;
  if (balance < account.held) return { answer: { ok: false, reason: "below_held" } };
  if (balance > MAX_MICRO_CREDITS) return { answer: { ok: false, reason: "too_large" } };
  const entry: EntryRow = {
    cause,
    account: account.id,
    key: null,
    counter: "funding",
    amount: command.amount,
    balanceAfter: balance,
    kind: "grant",
    requestId: command.requestId,
    reason: command.reason,
    createdAtMs: command.nowMs,
  };
  return {
    answer: { ok: true, balance },
    effect: { account: { id: account.id, balance: command.amount, held: 0n }, entries: [entry] },
  };
}
