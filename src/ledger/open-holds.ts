import type { MicroCredits } from "../core/money/credits.ts";
import type { AnswerTo, HoldCredit, Void } from "./commands.ts";

/** Open holds of requests that stand in this process's memory and in no table. */
export interface OpenHolds {
  /**
   * Sets credit aside, or tells the reason why not. Throws or rejects with `overloaded_error` when it cannot. `direct`
   * makes the hold in the tables, where memory has only a part of the account.
   */
  hold(
    command: HoldCredit,
    direct: (command: HoldCredit) => Promise<AnswerTo<HoldCredit>>,
  ): AnswerTo<HoldCredit> | Promise<AnswerTo<HoldCredit>>;
  /** How many there are. */
  count(): number;
  /** What they hold of accounts and of keys, by id, beyond what the tables say is held. */
  held(): Held;
  /** Voids for those whose process is not `bootId`, and for those whose time was over at `steadyMs`. */
  abandoned(now: {
    readonly bootId: string;
    readonly nowMs: number;
    readonly steadyMs: number;
  }): readonly Void[];
  /** Frees what dead processes had set aside in their memory; gives the number of holds that ended by it. */
  release?(): Promise<number>;
  /** Compares memory with the tables; returns the ids of accounts and keys that differ. */
  compare(): Promise<readonly string[]>;
  /**
   * Compares the journal with memory and with the tables, where charges go to a journal first. Resolves with what is
   * wrong, as sentences and ids of accounts and keys.
   */
  compareJournal?(): Promise<readonly string[]>;
}

/** This process, and its time by both clocks. */
export interface Now {
  readonly bootId: string;
  readonly nowMs: number;
  readonly steadyMs: number;
}

/** Amounts by the id of an account or a key; none where nothing is held. */
export interface Held {
  readonly accounts: ReadonlyMap<string, MicroCredits>;
  readonly keys: ReadonlyMap<string, MicroCredits>;
}

/** Where the tables have every open hold. */
export const NOTHING_HELD: Held = { accounts: new Map(), keys: new Map() };
