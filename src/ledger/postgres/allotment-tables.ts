import type { QueryResultRow } from "pg";
import type { Failpoint } from "../../core/failpoint.ts";
import type { Command, Outcome } from "../commands.ts";
import {
  accountsStatement,
  deadStatement,
  type Freed,
  freeStatement,
  leftStatement,
  liveStatement,
  type MemoryChanges,
  ownStatement,
  type Recalled,
  recallStatement,
  removeStatement,
  saveMemoryStatement,
  type Taken,
  takeStatement,
  type Wanted,
} from "./allotment-statements.ts";
import {
  type Connection,
  type Heard,
  inTransaction,
  isConflict,
  openConnection,
  send,
} from "./connection.ts";
import { runDirectly } from "./executor.ts";
import { lockAccounts, type Statement } from "./statements.ts";

/** The store that processes share, as one of them uses it. Every call rejects where the store does not answer. */
export interface SharedTables {
  /** Runs a batch over the tables. */
  run(commands: readonly Command[]): Promise<readonly Outcome[]>;
  /** Takes an allotment, or more of one; `undefined` where none is given. */
  take(wanted: Wanted, nowMs: number): Promise<Taken | undefined>;
  /**
   * Writes what became of holds in memory, all of it or nothing. `false` where an allotment is not there any more, or a
   * hold is in the tables already.
   */
  save(changes: MemoryChanges, removed?: readonly string[]): Promise<boolean>;
  /** This process's allotments, and which of `holds` the tables have, at one moment. */
  own(boot: string, holds: readonly string[]): Promise<Own>;
  /** Frees allotments of `accounts`: those named, or those of dead processes. Gives their number. */
  free(accounts: readonly string[], which: Freed): Promise<number>;
  /** Those of `ids` that are accounts. */
  accounts(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Whether the lease of a process lasts. */
  isLive(boot: string): Promise<boolean>;
  /** Accounts of which dead processes but one have allotments. */
  dead(but: string): Promise<readonly string[]>;
  /** Asks every process for what it has of an account; gives the account where anything is allotted of it. */
  recall(of: Recalled): Promise<string | undefined>;
  /** The allotments that are left of an account. */
  left(account: string): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What the tables have of one process. */
export interface Own {
  readonly allotments: readonly { readonly id: string; readonly account: string; readonly amount: bigint }[];
  readonly holds: ReadonlySet<string>;
}

/** What the tables tell their process. */
export interface SharedEvents extends Heard {
  /** Commands were decided over these accounts; of each, whether one was refused what is allotted. */
  onDecided(accounts: ReadonlyMap<string, boolean>): void;
}

/** The tables at `url`. */
export function openSharedTables(url: string, failpoint: Failpoint, events: SharedEvents): SharedTables {
  const connection = openConnection(url, events);
  const ask = <Row extends QueryResultRow>(statement: Statement): Promise<readonly Row[]> =>
    connection.use(async (client) => (await send<Row>(client, statement)).rows);
  const change = changing(connection);
  return {
    run: (commands) => runDirectly({ connection, failpoint, onDecided: events.onDecided }, commands),
    async take(wanted, nowMs) {
      failpoint("allotment.before_take");
      const [, taken] = await change([lockAccounts([wanted.account]), takeStatement(wanted, nowMs)]);
      failpoint("allotment.after_take");
      const [row] = (taken?.rows ?? []) as { part: bigint; expires_at_ms: bigint | null }[];
      if (row === undefined) return undefined;
      return {
        amount: row.part,
        expiresAtMs: row.expires_at_ms === null ? null : Number(row.expires_at_ms),
      };
    },
    async save(changes, removed = []) {
      failpoint("allotment.before_save");
      try {
        const saved = saveMemoryStatement(changes);
        await (removed.length === 0 ? ask(saved) : change([saved, removeStatement(removed)]));
      } catch (error) {
        if (isConflict(error)) return false;
        throw error;
      }
      failpoint("allotment.after_save");
      return true;
    },
    async own(boot, holds) {
      const [row] = await ask<{ allotments: WrittenAllotment[]; holds: string[] }>(ownStatement(boot, holds));
      const allotments = row?.allotments ?? [];
      return {
        allotments: allotments.map(({ id, account, amount }) => ({ id, account, amount: BigInt(amount) })),
        holds: new Set(row?.holds),
      };
    },
    async free(accounts, which) {
      const [, freed] = await change([lockAccounts(accounts), freeStatement(accounts, which)]);
      return freed?.rows.length ?? 0;
    },
    accounts: async (ids) => new Set((await ask<{ id: string }>(accountsStatement(ids))).map(({ id }) => id)),
    isLive: async (boot) => (await ask(liveStatement(boot))).length > 0,
    dead: async (but) => (await ask<{ account_id: string }>(deadStatement(but))).map((row) => row.account_id),
    recall: async (of) => (await ask<{ id: string }>(recallStatement(of)))[0]?.id,
    left: async (account) => (await ask<{ id: string }>(leftStatement(account))).map(({ id }) => id),
    close: () => connection.close(),
  };
}

/** An allotment as JSON has it: below 2^53. */
interface WrittenAllotment {
  readonly id: string;
  readonly account: string;
  readonly amount: number;
}

/** Statements that are sent together as one transaction. */
const changing = (connection: Connection) => (statements: readonly Statement[]) =>
  connection.use((client) => inTransaction(client, statements));
