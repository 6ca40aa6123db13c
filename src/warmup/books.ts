import type { Caller } from "../core/caller.ts";
import { noFailpoint } from "../core/failpoint.ts";
import type { Log } from "../core/log/log.ts";
import { MAX_MICRO_CREDITS } from "../core/money/credits.ts";
import type { Random } from "../core/random.ts";
import type { Clock } from "../core/time/clock.ts";
import { noState } from "../ledger/decide/state.ts";
import { createLedger, type Ledger } from "../ledger/ledger.ts";
import { openKeeper } from "../ledger/sqlite/keeper.ts";
import type { BooksStore } from "../ledger/sqlite/thread-store.ts";
import { createWriter } from "../ledger/writer.ts";
import type { Breathe } from "./warm-up.ts";

/** What a rehearsal's books are made of. */
export interface BooksParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Who pays. */
  readonly caller: Caller;
  /** Awaited where the books would wait for the disk. */
  readonly breathe: Breathe;
}

/** A ledger whose books are in memory alone: they have one account with all the credit there can be. */
export async function openMadeUpBooks({ clock, random, log, caller, breathe }: BooksParts): Promise<Ledger> {
  const keeper = await openKeeper({
    store: storeFor(caller, breathe),
    left: [],
    openIntents: () => ({ note() {}, close() {} }),
    lost: () => undefined,
  });
  return createLedger({
    writer: createWriter(keeper, log, clock),
    openHolds: keeper,
    clock,
    random,
    failpoint: noFailpoint,
    bootId: "boot_rehearsal",
    holdLifetimeMs: () => LONGEST_MS,
  });
}

/** Longer than any rehearsal. */
const LONGEST_MS = 60_000;

/** Tables that have the caller's account and key, and are not written. */
function storeFor({ accountId, keyId }: Caller, breathe: Breathe): BooksStore {
  return {
    async load() {
      const state = noState();
      state.accounts.set(accountId, {
        id: accountId,
        status: "active",
        balance: MAX_MICRO_CREDITS,
        held: 0n,
      });
      state.keys.set(keyId, {
        id: keyId,
        account: accountId,
        revokedAtMs: null,
        expiresAtMs: null,
        budget: null,
        spent: 0n,
        held: 0n,
      });
      return state;
    },
    async write() {
      await breathe();
      return { rows: [] };
    },
    current: async () => {},
    close: async () => {},
  };
}
