import type { Clock } from "../../core/time/clock.ts";
import type { HoldRow, PriceVersionRow } from "../rows.ts";
import type { Intent } from "../intents.ts";
import type { SharedTables } from "./allotment-tables.ts";
import { isConnectionFault, isStoreFault } from "./connection.ts";
import type { HoldNotes } from "./hold-notes.ts";
import {
  abandoned,
  amountOf,
  change,
  dropHold,
  type Ended,
  movedToTables,
  type Reserve,
} from "./reserves.ts";

/** What one process keeps in memory of books that it shares. */
export interface Kept {
  readonly tables: SharedTables;
  readonly clock: Clock;
  readonly notes: HoldNotes | undefined;
  readonly onUnbooked: (hold: HoldRow, reason: string) => void;
  /** Allotments by id, by their key, and by each of their open holds. */
  readonly reserves: Map<string, Reserve>;
  readonly byKey: Map<string, Reserve>;
  readonly byHold: Map<string, Reserve>;
  /** Prices that holds were made by, and those of them that the tables have. */
  readonly prices: Map<string, PriceVersionRow>;
  readonly stored: Set<string>;
  /** Whether a write was sent of which it is not known what became of it. */
  isInDoubt: boolean;
  lease: Lease | undefined;
  nextNumber: number;
}

/** Nothing yet, of a process without a lease. */
export function nothingKept(parts: Pick<Kept, "tables" | "clock" | "notes" | "onUnbooked">): Kept {
  return {
    ...parts,
    reserves: new Map(),
    byKey: new Map(),
    byHold: new Map(),
    prices: new Map(),
    stored: new Set(),
    isInDoubt: false,
    lease: undefined,
    nextNumber: 0,
  };
}

/** The lease of this process, by its steady clock. */
export interface Lease {
  readonly boot: string;
  readonly leaseMs: number;
  /** Since when it was renewed without a break. */
  readonly sinceMs: number;
  /** No hold is made from memory after that. */
  readonly untilMs: number;
}

/** Numbers the allotments of a process. */
export function nextSerial(kept: Kept): number {
  kept.nextNumber += 1;
  return kept.nextNumber;
}

/** Retries after others were quicker. */
const MAX_TRIES = 3;

/** Gives allotments back, and brings their open holds into the tables. */
export async function close(kept: Kept, reserves: readonly Reserve[]): Promise<void> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const those = reserves.filter(({ id }) => kept.reserves.has(id));
    if (those.length === 0) return;
    const moved = movedToTables(those, { which: () => true, andRest: true }, (version) =>
      kept.prices.get(version),
    );
    const ids = those.map(({ id }) => id);
    if (await write(kept, moved, ids)) {
      for (const reserve of those) forget(kept, reserve);
      return;
    }
    await settleDoubt(kept);
  }
  throw new Error("The allotments could not be given back.");
}

/** Brings open holds into the tables, where all processes know them, and tells the tables what is held in memory. */
export async function move(
  kept: Kept,
  reserves: readonly Reserve[],
  which: (hold: HoldRow) => boolean,
): Promise<void> {
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const those = reserves.filter(({ id, state }) => kept.reserves.has(id) && state.holds.size > 0);
    if (those.length === 0) return;
    const moved = movedToTables(those, { which, andRest: false }, (version) => kept.prices.get(version));
    if (await write(kept, moved, [])) return;
    await settleDoubt(kept);
  }
  throw new Error("The holds could not be brought into the tables.");
}

async function write(kept: Kept, { saving, apply }: Ended, removed: readonly string[]): Promise<boolean> {
  kept.isInDoubt = true;
  if (!(await kept.tables.save(saving, removed))) return false;
  kept.isInDoubt = false;
  for (const id of saving.changes.newHolds.keys()) kept.byHold.delete(id);
  apply();
  return true;
}

/**
 * Goes on from what the tables have, where it is not known what became of a write. It drops from memory the holds that
 * they have, and gives up the holds of an allotment that is gone. Rejects where the store cannot be asked.
 */
export async function settleDoubt(kept: Kept): Promise<void> {
  const { tables, lease, reserves, byHold } = kept;
  if (!kept.isInDoubt || lease === undefined) return;
  const { allotments, holds } = await tables.own(lease.boot, [...byHold.keys()]);
  for (const id of holds) {
    const reserve = byHold.get(id);
    if (reserve !== undefined) dropHold(reserve, id);
    byHold.delete(id);
  }
  const there = new Map(allotments.map((each) => [each.id, each]));
  for (const reserve of reserves.values()) {
    const found = there.get(reserve.id);
    if (found === undefined) {
      reserve.isClosing = true;
      await giveUp(
        kept,
        [...reserve.state.holds.values()].map((hold) => intentOf(kept, hold)),
      );
      forget(kept, reserve);
    } else change(reserve, found.amount - amountOf(reserve), 0n);
  }
  const unknown = allotments.filter(({ id }) => !reserves.has(id));
  if (unknown.length > 0)
    await tables.free(
      [...new Set(unknown.map(({ account }) => account))],
      unknown.map(({ id }) => id),
    );
  kept.isInDoubt = false;
}

function intentOf({ prices }: Kept, hold: HoldRow): Intent {
  return { hold, prices: prices.get(hold.priceVersion) as PriceVersionRow };
}

/** Books what holds probably cost that nothing is held for any more. Gives the number of those that were booked now. */
async function giveUp(kept: Kept, holds: readonly Intent[]): Promise<number> {
  const { tables, clock, onUnbooked } = kept;
  let refusal = "the tables have a part of it already";
  for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
    const { holds: there } = await tables.own(
      "",
      holds.map(({ hold }) => hold.id),
    );
    const lost = holds.filter(({ hold }) => !there.has(hold.id));
    if (lost.length === 0) return 0;
    try {
      if (await tables.save(abandoned(lost, clock.nowMs()))) return lost.length;
    } catch (error) {
      if (isConnectionFault(error) || isStoreFault(error)) throw error;
      refusal = String(error);
      break;
    }
  }
  const [first, second] = holds;
  // One of them is refused, and always will be: the others do not wait for it.
  if (first !== undefined && second === undefined) {
    onUnbooked(first.hold, refusal);
    return 0;
  }
  let booked = 0;
  for (const hold of holds) booked += await giveUp(kept, [hold]);
  return booked;
}

function forget({ reserves, byKey, byHold }: Kept, reserve: Reserve): void {
  reserves.delete(reserve.id);
  if (byKey.get(reserve.key) === reserve) byKey.delete(reserve.key);
  for (const id of reserve.state.holds.keys()) byHold.delete(id);
}

/** Frees allotments of dead processes, and books what holds cost that they noted on this machine. */
export async function releaseDead(kept: Kept): Promise<number> {
  const { tables, notes, lease } = kept;
  const deadBut = lease?.boot ?? "";
  const accounts = await tables.dead(deadBut);
  if (accounts.length > 0) await tables.free(accounts, { deadBut });
  let ended = 0;
  for (const boot of notes?.left() ?? []) {
    // Before it is asked whether it lives: what one notes that comes back is not of the dead.
    const noted = notes?.read(boot) ?? [];
    if (await tables.isLive(boot)) continue;
    const there = await tables.accounts([...new Set(noted.map(({ hold }) => hold.account))]);
    // A note of an account that is not there is of other books.
    ended += await giveUp(
      kept,
      noted.filter(({ hold }) => there.has(hold.account)),
    );
    notes?.remove(boot);
  }
  return ended;
}
