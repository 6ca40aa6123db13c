import { MAX_MICRO_CREDITS, type MicroCredits } from "../core/credits.ts";
import {
  apply,
  type Changes,
  type Effect,
  type HoldEnding,
  type NewEntry,
  type NewRequest,
  noChanges,
} from "./books-changes.ts";
import {
  type AccountState,
  type BooksState,
  grantCause,
  type HoldState,
  type KeyState,
  lateCause,
} from "./books-state.ts";
import {
  ABANDONED,
  type AnswerTo,
  type Grant,
  type HoldCredit,
  type MoneyCommand,
  type Outcome,
  type RequestTimeline,
  type Settle,
  type Void,
} from "./commands.ts";

/** What a batch comes to: an answer to each command, and what has to be written for these answers to be true. */
export interface Decision {
  readonly outcomes: readonly Outcome[];
  readonly changes: Changes;
}

/**
 * Decides the commands one after the other, as if each were alone: pure, and the same for every store. `state` holds
 * the rows that they refer to and is used up. A command that breaks an invariant is answered with a failure and
 * leaves nothing behind; its neighbours do not notice.
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

interface Decided<C extends MoneyCommand> {
  readonly answer: AnswerTo<C>;
  readonly effect?: Effect;
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
      throw new Error(`${command.kind} is not decided yet.`);
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
  const balance = account.balance + command.amount;
  if (balance < account.held) return { answer: { ok: false, reason: "below_held" } };
  if (balance > MAX_MICRO_CREDITS) return { answer: { ok: false, reason: "too_large" } };
  const entry: NewEntry = {
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

function hold(state: BooksState, command: HoldCredit): Decided<HoldCredit> {
  const made = holdOf(state, command);
  if (made !== undefined) return { answer: { ok: true, ...roomOf(command, made.amount) } };
  const account = state.accounts.get(command.account);
  const key = state.keys.get(command.key);
  if (account === undefined || key === undefined || !isLive(account, key, command.nowMs))
    return { answer: { ok: false, reason: "key_not_live" } };
  const { free, room } = roomIn(account, key);
  const amount = amountOf(command, free < room ? free : room);
  if (amount > free) return { answer: { ok: false, reason: "insufficient_credits" } };
  if (amount > room) return { answer: { ok: false, reason: "budget_exceeded" } };
  return {
    answer: { ok: true, ...roomOf(command, amount) },
    effect: {
      account: { id: account.id, balance: 0n, held: amount },
      key: { id: key.id, spent: 0n, held: amount },
      prices: {
        version: command.priceVersion,
        model: command.model,
        rules: command.priceRules,
        createdAtMs: command.nowMs,
      },
      newHold: {
        id: command.hold,
        account: account.id,
        key: key.id,
        requestId: command.requestId,
        boot: command.boot,
        model: command.model,
        amount,
        expectedCost: command.expectedCost < amount ? command.expectedCost : amount,
        priceVersion: command.priceVersion,
        createdAtMs: command.nowMs,
        expiresAtMs: command.expiresAtMs,
        ending: null,
      },
    },
  };
}

/** What the account has free, and what the key's budget leaves: as much, where the key has none. */
function roomIn(
  account: AccountState,
  key: KeyState,
): { readonly free: MicroCredits; readonly room: MicroCredits } {
  const free = account.balance - account.held;
  return { free, room: key.budget === null ? free : key.budget - key.spent - key.held };
}

function isLive(account: AccountState, key: KeyState, nowMs: number): boolean {
  const expired = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  return account.active && key.account === account.id && !key.revoked && !expired;
}

/** The amount to hold when so much may be spent: what is asked, and room for output within half of what is there. */
function amountOf({ amount, elastic }: HoldCredit, spendable: MicroCredits): MicroCredits {
  if (elastic === undefined || elastic.tokenPrice === 0n) return amount;
  const room = spendable / 2n - amount;
  const affordable = room <= 0n ? 0n : room / elastic.tokenPrice;
  const floor = BigInt(elastic.floorTokens);
  const most = BigInt(elastic.maxTokens);
  const wanted = affordable < floor ? floor : affordable;
  return amount + (wanted > most ? most : wanted) * elastic.tokenPrice;
}

/** The amount and the output it has room for; that follows from the amount, so that a repeated command is answered alike. */
function roomOf(
  { amount, elastic }: HoldCredit,
  held: MicroCredits,
): { readonly amount: MicroCredits; readonly outputTokens?: number } {
  if (elastic === undefined) return { amount: held };
  if (elastic.tokenPrice === 0n) return { amount: held, outputTokens: elastic.maxTokens };
  return { amount: held, outputTokens: Number((held - amount) / elastic.tokenPrice) };
}

function settle(state: BooksState, command: Settle): Decided<Settle> {
  const made = holdOf(state, command);
  if (made === undefined) return { answer: { ok: false, reason: "unknown_hold" } };
  if (made.state === "settled") return { answer: { ok: true, charged: made.settled ?? 0n } };
  if (made.state === "voided") return settleLate(state, command, made);
  const charged = chargeOf(state, made, command.used);
  const lost = command.used - charged;
  const entries = [chargeEntry(state, made, command, charged)];
  if (lost > 0n) entries.push(lossEntry(made, `${made.id}:loss`, lost, command));
  const flags = command.used > made.amount ? [...command.flags, "above_hold"] : command.flags;
  return {
    answer: { ok: true, charged },
    effect: {
      account: { id: made.account, balance: -charged, held: -made.amount },
      key: { id: made.key, spent: charged, held: -made.amount },
      ending: endingOf(made, command, charged),
      entries,
      request: requestOf(made, command, charged, {
        usage: command.usage,
        flags: flags.length === 0 ? null : JSON.stringify(flags),
      }),
    },
  };
}

/** Up to the hold in any case; above it what the account has free and the key's budget still allows. */
function chargeOf(state: BooksState, made: HoldState, used: MicroCredits): MicroCredits {
  if (used <= made.amount) return used;
  const { free, room } = roomIn(accountOf(state, made), keyOf(state, made));
  const more = free < room ? free : room;
  const most = more > 0n ? made.amount + more : made.amount;
  return used < most ? used : most;
}

/** The hold was given up before: the client is charged nothing, and the books learn what was really lost. */
function settleLate(state: BooksState, command: Settle, made: HoldState): Decided<Settle> {
  const answer = { ok: true, charged: 0n } as const;
  const cause = lateCause(made.id);
  const known = isAbandoned(made.endReason) ? made.expectedCost : 0n;
  if (command.used === known || state.entries.has(cause)) return { answer };
  return {
    answer,
    effect: {
      account: { id: made.account, balance: 0n, held: 0n },
      entries: [lossEntry(made, cause, command.used - known, command)],
    },
  };
}

function voidHold(state: BooksState, command: Void): Decided<Void> {
  const made = holdOf(state, command);
  if (made === undefined) return { answer: { ok: false, reason: "unknown_hold" } };
  if (made.state === "settled") return { answer: { ok: false, reason: "settled" } };
  if (made.state === "voided") return { answer: { ok: true } };
  const lost = isAbandoned(command.outcome) ? made.expectedCost : 0n;
  return {
    answer: { ok: true },
    effect: {
      account: { id: made.account, balance: 0n, held: -made.amount },
      key: { id: made.key, spent: 0n, held: -made.amount },
      ending: endingOf(made, command, null),
      ...(lost === 0n ? {} : { entries: [lossEntry(made, `${made.id}:loss`, lost, command)] }),
      request: requestOf(made, command, 0n, { usage: null, flags: null }),
    },
  };
}

/** Whether the hold was ended by another than its request, with its expected cost booked as lost. */
function isAbandoned(reason: string | null): boolean {
  return ABANDONED.some((known) => known === reason);
}

function endingOf(made: HoldState, command: Settle | Void, settled: MicroCredits | null): HoldEnding {
  return {
    id: made.id,
    state: settled === null ? "voided" : "settled",
    settled,
    endReason: command.outcome,
    endedAtMs: command.nowMs,
  };
}

function chargeEntry(state: BooksState, made: HoldState, command: Settle, charged: MicroCredits): NewEntry {
  return {
    cause: `${made.id}:settle`,
    account: made.account,
    key: made.key,
    counter: "revenue",
    amount: -charged,
    balanceAfter: accountOf(state, made).balance - charged,
    kind: "settle",
    requestId: made.requestId,
    reason: command.outcome,
    createdAtMs: command.nowMs,
  };
}

/** What nobody pays for; `operator` has no balance, so there is none after it. */
function lossEntry(made: HoldState, cause: string, lost: MicroCredits, command: Settle | Void): NewEntry {
  return {
    cause,
    account: "operator",
    key: null,
    counter: "operator_loss",
    amount: -lost,
    balanceAfter: 0n,
    kind: "loss",
    requestId: made.requestId,
    reason: command.outcome,
    createdAtMs: command.nowMs,
  };
}

function requestOf(
  made: HoldState,
  command: Settle | Void,
  charge: MicroCredits,
  counted: { readonly usage: string | null; readonly flags: string | null },
): NewRequest {
  const timeline: Partial<RequestTimeline> = command.timeline ?? {};
  return {
    id: made.requestId,
    account: made.account,
    key: made.key,
    hold: made.id,
    model: made.model,
    provider: timeline.provider ?? null,
    outcome: command.outcome,
    charge,
    priceVersion: made.priceVersion,
    ...counted,
    attempts: JSON.stringify(timeline.attempts ?? []),
    admittedAtMs: timeline.admittedAtMs ?? made.createdAtMs,
    heldAtMs: timeline.heldAtMs ?? made.createdAtMs,
    firstByteAtMs: timeline.firstByteAtMs ?? null,
    endedAtMs: timeline.endedAtMs ?? command.nowMs,
    settledAtMs: command.nowMs,
  };
}

/** The hold as it was made. A command that names another account or key than it did is a mistake, in any company. */
function holdOf(state: BooksState, command: HoldCredit | Settle | Void): HoldState | undefined {
  const made = state.holds.get(command.hold);
  if (made !== undefined && (made.account !== command.account || made.key !== command.key))
    throw new Error(`The hold ${made.id} belongs to another account or key.`);
  return made;
}

function accountOf(state: BooksState, made: HoldState): AccountState {
  const account = state.accounts.get(made.account);
  if (account === undefined) throw new Error(`The account ${made.account} is not there.`);
  return account;
}

function keyOf(state: BooksState, made: HoldState): KeyState {
  const key = state.keys.get(made.key);
  if (key === undefined) throw new Error(`The key ${made.key} is not there.`);
  return key;
}
