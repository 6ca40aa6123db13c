import type { Answers, Command, HoldCredit } from "../../src/ledger/commands.ts";

/** The rules of money in their plainest form: one command after the other, in memory, nothing but sums. */
export interface PlainBooks {
  /** Does the command and gives its answer. */
  apply(command: Command): Answers[Command["kind"]];
  account(id: string): { readonly balance: bigint; readonly held: bigint };
  key(id: string): { readonly spent: bigint; readonly held: bigint };
}

interface PlainHold {
  readonly account: string;
  readonly key: string;
  readonly amount: bigint;
  state: "held" | "voided" | "settled";
  charged: bigint;
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);

/** Books of these accounts, each with one key without a budget, that know grants, holds, their ends, and budgets. */
export function createPlainBooks(
  pairs: readonly { readonly account: string; readonly key: string }[],
): PlainBooks {
  const accounts = new Map(pairs.map(({ account }) => [account, { balance: 0n, held: 0n }]));
  const keys = new Map(pairs.map(({ key }) => [key, { spent: 0n, held: 0n }]));
  const budgets = new Map<string, bigint | null>();
  const grants = new Map<string, bigint>();
  const holds = new Map<string, PlainHold>();
  const account = (id: string) => accounts.get(id) as { balance: bigint; held: bigint };
  const key = (id: string) => keys.get(id) as { spent: bigint; held: bigint };

  const freeOf = (id: string): bigint => account(id).balance - account(id).held;
  const roomOf = (id: string): bigint | undefined => {
    const budget = budgets.get(id) ?? null;
    return budget === null ? undefined : budget - key(id).spent - key(id).held;
  };

  const hold = (command: HoldCredit): Answers["hold"] => {
    const { elastic } = command;
    const told = (amount: bigint): Answers["hold"] =>
      elastic === undefined
        ? { ok: true, amount }
        : { ok: true, amount, outputTokens: Number((amount - command.amount) / elastic.tokenPrice) };
    const made = holds.get(command.hold);
    if (made !== undefined) return told(made.amount);
    const free = freeOf(command.account);
    const room = roomOf(command.key) ?? free;
    let { amount } = command;
    if (elastic !== undefined) {
      const half = Number((smaller(free, room) / 2n - amount) / elastic.tokenPrice);
      const tokens = Math.min(elastic.maxTokens, Math.max(elastic.floorTokens, half));
      amount += BigInt(tokens) * elastic.tokenPrice;
    }
    if (free < amount) return { ok: false, reason: "insufficient_credits" };
    if (room < amount) return { ok: false, reason: "budget_exceeded" };
    account(command.account).held += amount;
    key(command.key).held += amount;
    holds.set(command.hold, { ...command, amount, state: "held", charged: 0n });
    return told(amount);
  };

  const end = (found: PlainHold, used: bigint): bigint => {
    account(found.account).held -= found.amount;
    key(found.key).held -= found.amount;
    const free = freeOf(found.account);
    const most = smaller(free, roomOf(found.key) ?? free);
    const charged = smaller(used, most > found.amount ? most : found.amount);
    account(found.account).balance -= charged;
    key(found.key).spent += charged;
    return charged;
  };

  return {
    account,
    key,
    apply(command) {
      if (command.kind === "change_key") {
        if (command.budget !== undefined) budgets.set(command.key, command.budget);
        return { ok: true };
      }
      if (command.kind === "grant") {
        const before = grants.get(command.cause);
        if (before !== undefined) return { ok: true, balance: before };
        const at = account(command.account);
        if (at.balance + command.amount < at.held) return { ok: false, reason: "below_held" };
        at.balance += command.amount;
        grants.set(command.cause, at.balance);
        return { ok: true, balance: at.balance };
      }
      if (command.kind === "hold") return hold(command);
      if (command.kind !== "settle" && command.kind !== "void")
        throw new Error(`The plain books know no ${command.kind}.`);
      const found = holds.get(command.hold);
      if (found === undefined) return { ok: false, reason: "unknown_hold" };
      if (command.kind === "settle") {
        if (found.state === "held")
          Object.assign(found, { state: "settled", charged: end(found, command.used) });
        return { ok: true, charged: found.charged };
      }
      if (found.state === "settled") return { ok: false, reason: "settled" };
      if (found.state === "held") Object.assign(found, { state: "voided", charged: end(found, 0n) });
      return { ok: true };
    },
  };
}
