import type { MicroCredits } from "../../core/money/credits.ts";
import type { AccountRow, EntryRow, HoldRow, KeyRow, PriceVersionRow, RequestRow } from "../rows.ts";
import type { Decided, Effect } from "./changes.ts";
import { type BooksState, lateCause } from "./state.ts";
import {
  ABANDONED,
  type HoldCredit,
  type HoldRefusal,
  type RequestTimeline,
  type Settle,
  type Void,
} from "../commands.ts";

/** What makes a hold, for a request or for a task. */
type Wanted = Omit<HoldCredit, "kind">;

/** How a hold ends, by its request or by its task. */
type End = Pick<Void, "outcome" | "timeline" | "served" | "cost" | "nowMs">;

/** Usage by then. */
type Use = End & Pick<Settle, "used" | "usage" | "flags">;

/** The account that pays, and the key. */
interface Payer {
  readonly account: AccountRow;
  readonly key: KeyRow;
}

/** Sets credit aside for a request. */
export function hold(state: BooksState, command: HoldCredit): Decided<HoldCredit> {
  const made = requestHoldOf(state, command);
  if (made !== undefined) return { answer: { ok: true, ...roomOf(command, made.amount) } };
  const payer = payerOf(state, command);
  if (payer === undefined) return { answer: { ok: false, reason: "key_not_live" } };
  const placed = placeHold(payer, command, null);
  if (placed.refusal !== undefined) return { answer: { ok: false, reason: placed.refusal } };
  return { answer: { ok: true, ...roomOf(command, placed.amount) }, effect: placed.effect };
}

/** The account and the key that a command names; `undefined` unless the key may be used now. */
export function payerOf({ accounts, keys }: BooksState, wanted: Wanted): Payer | undefined {
  const account = accounts.get(wanted.account);
  const key = keys.get(wanted.key);
  if (account === undefined || key === undefined || !isLive(account, key, wanted.nowMs)) return undefined;
  return { account, key };
}

type Placed =
  | { readonly refusal: Exclude<HoldRefusal, "key_not_live"> }
  | { readonly refusal?: never; readonly amount: MicroCredits; readonly effect: Effect };

/** Makes a hold that is not there yet, or returns the reason why not. */
export function placeHold({ account, key }: Payer, wanted: Wanted, task: string | null): Placed {
  const { free, room } = roomIn(account, key);
  const amount = amountOf(wanted, least(free, room));
  if (amount > free) return { refusal: "insufficient_credits" };
  if (amount > room) return { refusal: "budget_exceeded" };
  const effect: Effect = {
    account: { id: account.id, balance: 0n, held: amount },
    key: { id: key.id, spent: 0n, held: amount },
    prices: {
      version: wanted.priceVersion,
      model: wanted.model,
      rules: wanted.priceRules,
      createdAtMs: wanted.nowMs,
    },
    hold: {
      id: wanted.hold,
      account: account.id,
      key: key.id,
      requestId: wanted.requestId,
      boot: wanted.boot,
      model: wanted.model,
      amount,
      expectedCost: least(wanted.expectedCost, amount),
      priceVersion: wanted.priceVersion,
      createdAtMs: wanted.nowMs,
      expiresAtMs: wanted.expiresAtMs,
      task,
      state: "held",
      settled: null,
      endReason: null,
      endedAtMs: null,
    },
  };
  return { amount, effect };
}

/** The free credit of the account, and what the key's budget leaves; the same where the key has none. */
export function roomIn(
  account: Pick<AccountRow, "balance" | "held">,
  key: Pick<KeyRow, "budget" | "spent" | "held">,
): { readonly free: MicroCredits; readonly room: MicroCredits } {
  const free = account.balance - account.held;
  return { free, room: key.budget === null ? free : key.budget - key.spent - key.held };
}

function isLive(account: AccountRow, key: KeyRow, nowMs: number): boolean {
  const expired = key.expiresAtMs !== null && key.expiresAtMs <= nowMs;
  return account.status === "active" && key.account === account.id && key.revokedAtMs === null && !expired;
}

/** The amount to hold: the amount asked, and room for output within half of the spendable credit. */
function amountOf({ amount, elastic }: Wanted, spendable: MicroCredits): MicroCredits {
  if (elastic === undefined || elastic.tokenPrice === 0n) return amount;
  // Below 0 where the amount alone is more than half: the hold still has room for the floor.
  const affordable = (spendable / 2n - amount) / elastic.tokenPrice;
  const wanted = greatest(affordable, BigInt(elastic.floorTokens));
  return amount + least(wanted, BigInt(elastic.maxTokens)) * elastic.tokenPrice;
}

/**
 * The amount and its room for output. The room follows from the amount, so that a repeated command gets the same
 * answer.
 */
function roomOf(
  { amount, elastic }: HoldCredit,
  held: MicroCredits,
): { readonly amount: MicroCredits; readonly outputTokens?: number } {
  if (elastic === undefined) return { amount: held };
  if (elastic.tokenPrice === 0n) return { amount: held, outputTokens: elastic.maxTokens };
  return { amount: held, outputTokens: Number((held - amount) / elastic.tokenPrice) };
}

/** Ends the hold of a request by charging its usage. */
export function settle(state: BooksState, command: Settle): Decided<Settle> {
  const made = requestHoldOf(state, command);
  if (made === undefined) return { answer: { ok: false, reason: "unknown_hold" } };
  if (made.state === "settled") return { answer: { ok: true, charged: made.settled as MicroCredits } };
  if (made.state === "voided") return settleLate(state, command, made);
  const { charged, effect } = chargeHold(state, made, command);
  return { answer: { ok: true, charged }, effect };
}

/** Charges the usage to an open hold; what the account cannot pay is the operator's loss. */
export function chargeHold(
  state: BooksState,
  made: HoldRow,
  use: Use,
): { readonly charged: MicroCredits; readonly effect: Effect } {
  const charged = chargeOf(state, made, use.used);
  const lost = use.used - charged;
  const entries = [chargeEntry(state, made, use, charged)];
  if (lost > 0n) entries.push(lossEntry(made, `${made.id}:loss`, lost, use));
  const flags = use.used > made.amount ? [...use.flags, "above_hold"] : use.flags;
  return {
    charged,
    effect: {
      account: { id: made.account, balance: -charged, held: -made.amount },
      key: { id: made.key, spent: charged, held: -made.amount },
      prices: servedPrices(use),
      hold: endedHold(made, use, charged),
      entries,
      request: requestOf(made, use, charged, {
        usage: use.usage,
        flags: flags.length === 0 ? null : JSON.stringify(flags),
      }),
    },
  };
}

/** Up to the hold in any case; above it as much as the account's free credit and the key's budget still allow. */
function chargeOf(state: BooksState, made: HoldRow, used: MicroCredits): MicroCredits {
  if (used <= made.amount) return used;
  const { free, room } = roomIn(accountOf(state, made), keyOf(state, made));
  return least(used, made.amount + greatest(least(free, room), 0n));
}

/** The hold was abandoned before: the client is charged nothing, and the exact loss is booked. */
function settleLate(state: BooksState, command: Settle, made: HoldRow): Decided<Settle> {
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

/** Ends the hold of a request without a charge. */
export function voidHold(state: BooksState, command: Void): Decided<Void> {
  const made = requestHoldOf(state, command);
  if (made === undefined) return { answer: { ok: false, reason: "unknown_hold" } };
  if (made.state === "settled") return { answer: { ok: false, reason: "settled" } };
  if (made.state === "voided") return { answer: { ok: true } };
  return { answer: { ok: true }, effect: freeHold(made, command) };
}

/** Frees an open hold; where it was abandoned, its expected cost is the operator's loss. */
export function freeHold(made: HoldRow, end: End): Effect {
  const lost = isAbandoned(end.outcome) ? made.expectedCost : 0n;
  return {
    account: { id: made.account, balance: 0n, held: -made.amount },
    key: { id: made.key, spent: 0n, held: -made.amount },
    prices: servedPrices(end),
    hold: endedHold(made, end, null),
    ...(lost === 0n ? {} : { entries: [lossEntry(made, `${made.id}:loss`, lost, end)] }),
    request: requestOf(made, end, 0n, { usage: null, flags: null }),
  };
}

const least = (a: MicroCredits, b: MicroCredits): MicroCredits => (a < b ? a : b);
const greatest = (a: MicroCredits, b: MicroCredits): MicroCredits => (a > b ? a : b);

/** Whether the hold was abandoned, with its expected cost booked as lost. */
function isAbandoned(reason: string | null): boolean {
  return ABANDONED.some((known) => known === reason);
}

function endedHold(made: HoldRow, end: End, settled: MicroCredits | null): HoldRow {
  return {
    ...made,
    state: settled === null ? "voided" : "settled",
    settled,
    endReason: end.outcome,
    endedAtMs: end.nowMs,
  };
}

/** The prices of a model that served in another's place: those of the hold are stored with it. */
function servedPrices({ served, nowMs }: End): PriceVersionRow | undefined {
  if (served === undefined) return undefined;
  const { model, priceVersion, priceRules } = served;
  return { version: priceVersion, model, rules: priceRules, createdAtMs: nowMs };
}

function chargeEntry(state: BooksState, made: HoldRow, end: End, charged: MicroCredits): EntryRow {
  return {
    cause: `${made.id}:settle`,
    account: made.account,
    key: made.key,
    counter: "revenue",
    amount: -charged,
    balanceAfter: accountOf(state, made).balance - charged,
    kind: "settle",
    requestId: made.requestId,
    reason: end.outcome,
    createdAtMs: end.nowMs,
  };
}

/** The operator's loss. `operator` has no balance, so there is none after it. */
function lossEntry(made: HoldRow, cause: string, lost: MicroCredits, end: End): EntryRow {
  return {
    cause,
    account: "operator",
    key: null,
    counter: "operator_loss",
    amount: -lost,
    balanceAfter: 0n,
    kind: "loss",
    requestId: made.requestId,
    reason: end.outcome,
    createdAtMs: end.nowMs,
  };
}

function requestOf(
  made: HoldRow,
  end: End,
  charge: MicroCredits,
  counted: { readonly usage: string | null; readonly flags: string | null },
): RequestRow {
  const timeline: Partial<RequestTimeline> = end.timeline ?? {};
  return {
    id: made.requestId,
    account: made.account,
    key: made.key,
    hold: made.id,
    model: (end.served ?? made).model,
    provider: timeline.provider ?? null,
    outcome: end.outcome,
    charge,
    priceVersion: (end.served ?? made).priceVersion,
    ...counted,
    attempts: JSON.stringify(timeline.attempts ?? []),
    admittedAtMs: timeline.admittedAtMs ?? made.createdAtMs,
    heldAtMs: timeline.heldAtMs ?? made.createdAtMs,
    firstByteAtMs: timeline.firstByteAtMs ?? null,
    endedAtMs: timeline.endedAtMs ?? end.nowMs,
    settledAtMs: end.nowMs,
    cost: end.cost ?? null,
  };
}

/**
 * The hold as it was made. A command that names another account or key, or that would end it while its task goes on, is
 * a mistake in our code.
 */
function requestHoldOf(state: BooksState, command: HoldCredit | Settle | Void): HoldRow | undefined {
  const made = state.holds.get(command.hold);
  if (made === undefined) return undefined;
  if (made.account !== command.account || made.key !== command.key)
    throw new Error(`The hold ${made.id} belongs to another account or key.`);
  if (made.task !== null) throw new Error(`The hold ${made.id} ends with its task.`);
  return made;
}

function accountOf(state: BooksState, made: HoldRow): AccountRow {
  const account = state.accounts.get(made.account);
  if (account === undefined) throw new Error(`The account ${made.account} is not there.`);
  return account;
}

function keyOf(state: BooksState, made: HoldRow): KeyRow {
  const key = state.keys.get(made.key);
  if (key === undefined) throw new Error(`The key ${made.key} is not there.`);
  return key;
}
