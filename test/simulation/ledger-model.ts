import type {
  Answers,
  ChangeKey,
  Command,
  Grant,
  HoldCredit,
  IssueKey,
  Outcome,
  Settle,
  Void,
} from "../../src/ledger/commands.ts";

/** Outcomes of holds that were given up before their request could settle. */
const GIVEN_UP = new Set(["process_died", "expired", "unwritten", "unfinished_upstream"]);

/** An account of the model. */
export interface ModelAccount {
  balance: bigint;
  held: bigint;
}

/** A key of the model. */
export interface ModelKey {
  readonly account: string;
  budget: bigint | null;
  expiresAtMs: number | null;
  revoked: boolean;
  spent: bigint;
  held: bigint;
}

/** A hold of the model, and what became of it. */
export interface ModelHold {
  readonly account: string;
  readonly key: string;
  readonly boot: string;
  readonly amount: bigint;
  readonly expectedCost: bigint;
  state: "held" | "settled" | "voided";
  charged: bigint;
  /** What was used and nobody paid for, as far as the books know. */
  lost: bigint;
  /** Whether a settlement that came too late has said what was really used. */
  corrected: boolean;
}

/**
 * The books as the charging rules describe them, in plain maps: nothing is stored twice, nothing is batched. It is
 * written from the rules and shares no code with the ledger.
 */
export interface LedgerModel {
  readonly accounts: ReadonlyMap<string, ModelAccount>;
  readonly keys: ReadonlyMap<string, ModelKey>;
  readonly holds: ReadonlyMap<string, ModelHold>;
  readonly grants: ReadonlyMap<string, ModelGrant>;
  /** Does the commands of one batch: facts first, then money, each in order. */
  apply(commands: readonly Command[]): Outcome[];
}

/** A grant that was given. */
export interface ModelGrant {
  readonly account: string;
  readonly amount: bigint;
  readonly balanceAfter: bigint;
}

/** The most that an account can have: beyond it a double is not exact. */
const MOST = BigInt(Number.MAX_SAFE_INTEGER);

type Answer = Answers[Command["kind"]];

/** A model of empty books. */
export function createLedgerModel(): LedgerModel {
  const accounts = new Map<string, ModelAccount>();
  const keys = new Map<string, ModelKey>();
  const holds = new Map<string, ModelHold>();
  const grants = new Map<string, ModelGrant>();

  const issueKey = (command: IssueKey): Answer => {
    if (!accounts.has(command.account)) return { ok: false, reason: "unknown_account" };
    if (!keys.has(command.key))
      keys.set(command.key, {
        account: command.account,
        budget: command.budget,
        expiresAtMs: command.expiresAtMs,
        revoked: false,
        spent: 0n,
        held: 0n,
      });
    return { ok: true };
  };

  const changeKey = (command: ChangeKey): Answer => {
    const key = keys.get(command.key);
    if (key === undefined || key.revoked) return { ok: false, reason: "unknown_key" };
    if (command.budget !== undefined) key.budget = command.budget;
    if (command.expiresAtMs !== undefined) key.expiresAtMs = command.expiresAtMs;
    return { ok: true };
  };

  const grant = (command: Grant): Answer => {
    const before = grants.get(command.cause);
    if (before !== undefined)
      return before.account === command.account && before.amount === command.amount
        ? { ok: true, balance: before.balanceAfter }
        : { ok: false, reason: "other_grant" };
    const account = accounts.get(command.account);
    if (account === undefined) return { ok: false, reason: "unknown_account" };
    const balanceAfter = account.balance + command.amount;
    if (balanceAfter < account.held) return { ok: false, reason: "below_held" };
    if (balanceAfter > MOST) return { ok: false, reason: "too_large" };
    account.balance = balanceAfter;
    grants.set(command.cause, { account: command.account, amount: command.amount, balanceAfter });
    return { ok: true, balance: balanceAfter };
  };

  /** What the account has free and the key may still spend. */
  const roomOf = (account: ModelAccount, key: ModelKey): { free: bigint; allowed: bigint } => {
    const free = account.balance - account.held;
    return { free, allowed: key.budget === null ? free : key.budget - key.spent - key.held };
  };

  const hold = (command: HoldCredit): Answer => {
    const before = holds.get(command.hold);
    if (before !== undefined) return holdAnswer(command, before.amount);
    const account = accounts.get(command.account);
    const key = keys.get(command.key);
    if (account === undefined || key === undefined || key.account !== command.account || key.revoked)
      return { ok: false, reason: "key_not_live" };
    if (key.expiresAtMs !== null && command.nowMs >= key.expiresAtMs)
      return { ok: false, reason: "key_not_live" };
    const { free, allowed } = roomOf(account, key);
    const amount = command.amount + outputRoom(command, smaller(free, allowed));
    if (amount > free) return { ok: false, reason: "insufficient_credits" };
    if (amount > allowed) return { ok: false, reason: "budget_exceeded" };
    account.held += amount;
    key.held += amount;
    holds.set(command.hold, {
      account: command.account,
      key: command.key,
      boot: command.boot,
      amount,
      expectedCost: smaller(command.expectedCost, amount),
      state: "held",
      charged: 0n,
      lost: 0n,
      corrected: false,
    });
    return holdAnswer(command, amount);
  };

  /** Gives the credit of a hold back, before what was used is taken. */
  const release = (held: ModelHold): { account: ModelAccount; key: ModelKey } => {
    const account = accounts.get(held.account)!;
    const key = keys.get(held.key)!;
    account.held -= held.amount;
    key.held -= held.amount;
    return { account, key };
  };

  const settle = (command: Settle): Answer => {
    const held = holds.get(command.hold);
    if (held === undefined) return { ok: false, reason: "unknown_hold" };
    if (held.state === "held") {
      const { account, key } = release(held);
      const { free, allowed } = roomOf(account, key);
      // The hold was promised to this request; what is above it needs credit that is free and a budget that allows it.
      const most = larger(held.amount, smaller(free, allowed));
      held.state = "settled";
      held.charged = smaller(command.used, most);
      held.lost = command.used - held.charged;
      account.balance -= held.charged;
      key.spent += held.charged;
    } else if (held.state === "voided" && !held.corrected && held.lost !== command.used) {
      // Too late to charge: the operator learns what it really lost, once.
      held.lost = command.used;
      held.corrected = true;
    }
    return { ok: true, charged: held.charged };
  };

  const giveUp = (command: Void): Answer => {
    const held = holds.get(command.hold);
    if (held === undefined) return { ok: false, reason: "unknown_hold" };
    if (held.state === "settled") return { ok: false, reason: "settled" };
    if (held.state === "held") {
      release(held);
      held.state = "voided";
      // Nobody knows what became of it: the operator bears what it was expected to cost.
      if (GIVEN_UP.has(command.outcome)) held.lost = held.expectedCost;
    }
    return { ok: true };
  };

  const answer = (command: Command): Answer => {
    switch (command.kind) {
      case "create_account":
        if (!accounts.has(command.account)) accounts.set(command.account, { balance: 0n, held: 0n });
        return { ok: true };
      case "issue_key":
        return issueKey(command);
      case "change_key":
        return changeKey(command);
      case "revoke_key": {
        const key = keys.get(command.key);
        if (key === undefined) return { ok: false, reason: "unknown_key" };
        key.revoked = true;
        return { ok: true };
      }
      case "grant":
        return grant(command);
      case "hold":
        return hold(command);
      case "settle":
        return settle(command);
      case "void":
        return giveUp(command);
      default:
        return { ok: true };
    }
  };

  return {
    accounts,
    keys,
    holds,
    grants,
    apply(commands) {
      const answers = new Map<number, Answer>();
      for (const [i, command] of commands.entries())
        if (!MONEY.has(command.kind)) answers.set(i, answer(command));
      for (const [i, command] of commands.entries())
        if (MONEY.has(command.kind)) answers.set(i, answer(command));
      return commands.map((_, i) => ({ answer: answers.get(i)! }));
    },
  };
}

const MONEY: ReadonlySet<Command["kind"]> = new Set(["grant", "hold", "settle", "void"]);

/** Credit for output that the caller did not bound: half of what may be spent, at least the floor, at most the maximum. */
function outputRoom({ amount, elastic }: HoldCredit, spendable: bigint): bigint {
  if (elastic === undefined) return 0n;
  const { tokenPrice, maxTokens, floorTokens } = elastic;
  if (tokenPrice === 0n) return 0n;
  let tokens = 0n;
  while (tokens < BigInt(maxTokens) && (amount + (tokens + 1n) * tokenPrice) * 2n <= spendable) tokens += 1n;
  return smaller(larger(tokens, BigInt(floorTokens)), BigInt(maxTokens)) * tokenPrice;
}

function holdAnswer({ amount, elastic }: HoldCredit, held: bigint): Answer {
  if (elastic === undefined) return { ok: true, amount: held };
  const { tokenPrice, maxTokens } = elastic;
  const outputTokens = tokenPrice === 0n ? maxTokens : Number((held - amount) / tokenPrice);
  return { ok: true, amount: held, outputTokens };
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
