import type { AnswerTo, HoldCredit } from "../commands.ts";
import { type Kept, nextSerial, settleDoubt } from "./keeping.ts";
import { change, decideIn, newReserve, place } from "./reserves.ts";

/** An allotment is taken where it has room for so many of the hold that asks for it. */
const WORTH = 8n;

/** A key that was used within this time takes an allotment with its next hold. */
const SEEN_MS = 10_000;

/** A key that was given no allotment does not ask for one again before. */
const REST_MS = 5_000;

/** Keys that are remembered for when they were used. */
const MAX_SEEN = 20_000;

/** Makes the hold from the key's allotment; `undefined` where the tables have to. */
export function holdNow(kept: Kept, command: HoldCredit): AnswerTo<HoldCredit> | undefined {
  const { clock, lease, byKey, byHold, prices, notes } = kept;
  const reserve = byKey.get(command.key);
  if (reserve === undefined || reserve.isClosing || reserve.account !== command.account) return undefined;
  const nowMs = clock.steadyMs();
  if (lease === undefined || lease.boot !== command.boot || nowMs >= lease.untilMs) return undefined;
  const made = decideIn(reserve, command);
  if (made === undefined) return undefined;
  try {
    notes?.note(made.intent);
  } catch {
    // The tables have it, where the disk of this machine has no room.
    return undefined;
  }
  place(reserve, made.intent);
  reserve.usedAtMs = nowMs;
  byHold.set(command.hold, reserve);
  if (!prices.has(command.priceVersion)) prices.set(command.priceVersion, made.intent.prices);
  return made.answer;
}

/** Runs work when nothing else changes allotments. */
export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>;

/** Takes allotments where they are worth it. */
export function createTaker(kept: Kept) {
  const { clock, tables, reserves, byKey } = kept;
  const seen = new Map<string, number>();
  const resting = new Map<string, number>();
  const taking = new Map<string, Promise<void>>();

  const wantedOf = ({ amount, elastic }: HoldCredit): bigint =>
    amount + (elastic === undefined ? 0n : elastic.tokenPrice * BigInt(elastic.maxTokens));

  const takeNow = async (command: HoldCredit): Promise<void> => {
    const { account, key, boot, nowMs } = command;
    if (!isLeased(kept, boot)) return;
    await settleDoubt(kept);
    const before = byKey.get(key);
    if (before?.isClosing === true) return;
    const id = before?.id ?? `${boot}.${nextSerial(kept)}`;
    const atLeast = WORTH * wantedOf(command) + 1n;
    const wanted = { id, isNew: before === undefined, boot, account, key, atLeast };
    kept.isInDoubt = true;
    const taken = await tables.take(wanted, nowMs);
    kept.isInDoubt = false;
    if (taken === undefined) return;
    if (before !== undefined) change(before, taken.amount, 0n);
    else {
      const made = newReserve(wanted, taken.amount, {
        expiresAtMs: taken.expiresAtMs,
        nowMs: clock.steadyMs(),
      });
      reserves.set(id, made);
      byKey.set(key, made);
    }
  };

  return {
    /** Whether an allotment may be asked for: the key is in use, and was not refused a moment ago. */
    mayTake({ key, boot }: HoldCredit): boolean {
      if (taking.has(key)) return true;
      const nowMs = clock.steadyMs();
      const before = seen.get(key) ?? -Infinity;
      if (seen.size >= MAX_SEEN) seen.clear();
      seen.set(key, nowMs);
      return isLeased(kept, boot) && nowMs - before < SEEN_MS && (resting.get(key) ?? -Infinity) <= nowMs;
    },
    /** Resolves when there is one, or none is given for now. */
    take(command: HoldCredit, inTurn: InTurn): Promise<void> {
      const { key } = command;
      const under = taking.get(key);
      if (under !== undefined) return under;
      const done = inTurn(() => takeNow(command))
        .catch(() => undefined)
        .then(() => {
          taking.delete(key);
          const reserve = byKey.get(key);
          // Where it does not suffice, it does not for now.
          const suffices = reserve !== undefined && decideIn(reserve, command) !== undefined;
          if (resting.size >= MAX_SEEN) resting.clear();
          if (!suffices) resting.set(key, clock.steadyMs() + REST_MS);
        });
      taking.set(key, done);
      return done;
    },
  };
}

function isLeased({ lease, clock }: Kept, boot: string): boolean {
  return lease !== undefined && lease.boot === boot && clock.steadyMs() < lease.untilMs;
}
