import type {
  Answers,
  ChangeKey,
  Command,
  Grant,
  HoldCredit,
  HoldRefusal,
  IssueKey,
  Outcome,
  Settle,
  Void,
} from "../../src/ledger/commands.ts";
import type { Share, SubmitTask } from "../../src/ledger/task-commands.ts";
import type { ModelHold } from "./model-hold.ts";
import { createTaskModel, isOfTask, type ModelTask } from "./task-model.ts";

/** Outcomes of holds that were given up before their request could settle. */
const GIVEN_UP = new Set(["process_died", "expired", "unwritten", "unfinished_upstream"]);

/** An account of the model. */
export interface ModelAccount {
  balance: bigint;
  held: bigint;
  closed?: true;
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

/**
 * The books as the charging rules describe them, in plain maps: nothing is stored twice, nothing is batched. It is
 * written from the rules and shares no code with the ledger.
 */
export interface LedgerModel {
  readonly accounts: ReadonlyMap<string, ModelAccount>;
  readonly keys: ReadonlyMap<string, ModelKey>;
  readonly holds: ReadonlyMap<string, ModelHold>;
  readonly tasks: ReadonlyMap<string, ModelTask>;
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

const NOWHERE: Elsewhere = { idle: () => 0n, mayBeAsBefore: () => false };

type Answer = Answers[Command["kind"]];

/** What processes that hold from memory know and the tables do not, or the other way round. */
export interface Elsewhere {
  /** What they have set aside of an account or a key beyond what they hold: whoever asks the tables has it not. */
  idle(of: "account_id" | "key_id", id: string): bigint;
  /** Whether the key was narrowed, and who decides now need not know it yet. */
  mayBeAsBefore(key: string): boolean;
}

/** A model of empty books; `storeMs` tells the time of the store, where that is not the time of whoever asks. */
export function createLedgerModel(storeMs?: () => number, elsewhere: Elsewhere = NOWHERE): LedgerModel {
  const { idle, mayBeAsBefore } = elsewhere;
  const accounts = new Map<string, ModelAccount>();
  const keys = new Map<string, ModelKey>();
  const holds = new Map<string, ModelHold>();
  const grants = new Map<string, ModelGrant>();

  const issueKey = (command: IssueKey): Answer => {
    const account = accounts.get(command.account);
    const isOpen = account !== undefined && account.closed === undefined;
    if (account === undefined || !(isOpen || keys.has(command.key)))
      return { ok: false, reason: "unknown_account" };
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
    if (account.closed === true && command.amount > 0n) return { ok: false, reason: "closed" };
    const balanceAfter = account.balance + command.amount;
    if (balanceAfter < account.held + idle("account_id", command.account))
      return { ok: false, reason: "below_held" };
    if (balanceAfter > MOST) return { ok: false, reason: "too_large" };
    account.balance = balanceAfter;
    grants.set(command.cause, { account: command.account, amount: command.amount, balanceAfter });
    return { ok: true, balance: balanceAfter };
  };

  /** What the account has free and the key may still spend. */
  const roomOf = (ids: { account: string; key: string }): { free: bigint; allowed: bigint } => {
    const account = accounts.get(ids.account)!;
    const key = keys.get(ids.key)!;
    const free = account.balance - account.held - idle("account_id", ids.account);
    const left = key.budget === null ? free : key.budget - key.spent - key.held - idle("key_id", ids.key);
    return { free, allowed: mayBeAsBefore(ids.key) ? free : left };
  };

  const mayUse = ({ account, key: id, nowMs }: HoldCredit | SubmitTask): boolean => {
    const key = keys.get(id);
    if (!accounts.has(account) || key === undefined || key.account !== account) return false;
    if (accounts.get(account)?.closed === true) return false;
    if (mayBeAsBefore(id)) return true;
    if (key.revoked) return false;
    return key.expiresAtMs === null || nowMs < key.expiresAtMs;
  };

  /** Makes a hold that is not there yet for whoever may use the key. */
  const reserve = (command: HoldCredit | SubmitTask, task: string | null): ModelHold | HoldRefusal => {
    const account = accounts.get(command.account)!;
    const key = keys.get(command.key)!;
    const { free, allowed } = roomOf(command);
    const extra = command.kind === "hold" ? outputRoom(command, smaller(free, allowed)) : 0n;
    const amount = command.amount + extra;
    if (amount > free) return "insufficient_credits";
    if (amount > allowed) return "budget_exceeded";
    account.held += amount;
    key.held += amount;
    const made: ModelHold = {
      account: command.account,
      key: command.key,
      boot: command.boot,
      amount,
      expectedCost: smaller(command.expectedCost, amount),
      task,
      state: "held",
      charged: 0n,
      lost: 0n,
      corrected: false,
    };
    holds.set(command.hold, made);
    return made;
  };

  const hold = (command: HoldCredit): Answer => {
    const before = holds.get(command.hold);
    if (before !== undefined) return holdAnswer(command, before.amount);
    if (!mayUse(command)) return { ok: false, reason: "key_not_live" };
    const made = reserve(command, null);
    return typeof made === "string" ? { ok: false, reason: made } : holdAnswer(command, made.amount);
  };

  /** Gives the credit of a hold back, before what was used is taken. */
  const release = (held: ModelHold): { account: ModelAccount; key: ModelKey } => {
    const account = accounts.get(held.account)!;
    const key = keys.get(held.key)!;
    account.held -= held.amount;
    key.held -= held.amount;
    return { account, key };
  };

  const charge = (held: ModelHold, used: bigint): void => {
    const { account, key } = release(held);
    const { free, allowed } = roomOf(held);
    // The hold was promised to this request; what is above it needs credit that is free and a budget that allows it.
    const most = larger(held.amount, smaller(free, allowed));
    held.state = "settled";
    held.charged = smaller(used, most);
    held.lost = used - held.charged;
    account.balance -= held.charged;
    key.spent += held.charged;
  };

  const free = (held: ModelHold, isGivenUp: boolean, share?: Share): void => {
    release(held);
    held.state = "voided";
    // Nobody knows what became of it: the operator bears what it was expected to cost.
    if (!isGivenUp) return;
    if (share !== undefined) {
      // In numbers, as people would: half a micro-credit that is lost is lost.
      const part = (Number(held.expectedCost) * share.parts) / share.of;
      held.expectedCost = BigInt(Math.ceil(part));
    }
    held.lost = held.expectedCost;
  };

  const isClosed = (account: string): boolean => accounts.get(account)?.closed === true;
  const tasks = createTaskModel({ holds, isClosed, mayUse, reserve, charge, free }, storeMs);

  const settle = (command: Settle): Answer => {
    const held = holds.get(command.hold);
    if (held === undefined) return { ok: false, reason: "unknown_hold" };
    if (held.state === "held") charge(held, command.used);
    else if (held.state === "voided" && !held.corrected && held.lost !== command.used) {
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
    if (held.state === "held") free(held, GIVEN_UP.has(command.outcome));
    return { ok: true };
  };

  const answer = (command: Command): Answer => {
    if (isOfTask(command)) return tasks.answer(command);
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
      case "close_account": {
        const account = accounts.get(command.account);
        if (account === undefined) return { ok: false, reason: "unknown_account" };
        account.closed = true;
        return { ok: true };
      }
      case "revoke_keys":
        for (const key of keys.values()) if (key.account === command.account) key.revoked = true;
        return { ok: true };
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

  const outcome = (command: Command): Outcome => {
    try {
      return { answer: answer(command) };
    } catch (error) {
      return { failure: (error as Error).message };
    }
  };

  return {
    accounts,
    keys,
    holds,
    tasks: tasks.tasks,
    grants,
    apply(commands) {
      const outcomes = new Map<number, Outcome>();
      for (const [i, command] of commands.entries()) if (!isMoney(command)) outcomes.set(i, outcome(command));
      for (const [i, command] of commands.entries()) if (isMoney(command)) outcomes.set(i, outcome(command));
      return commands.map((_, i) => outcomes.get(i)!);
    },
  };
}

const MONEY: ReadonlySet<Command["kind"]> = new Set(["grant", "hold", "settle", "void"]);

const isMoney = (command: Command): boolean =>
  MONEY.has(command.kind) || (isOfTask(command) && command.kind !== "forget_tasks");

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
