import { noFailpoint, type Failpoint } from "../core/failpoint.ts";
import type { MicroCredits } from "../core/credits.ts";
import { kyselyOver } from "../db/sqlite.ts";
import type { SqliteDatabase, SqliteRow, SqliteStatement, SqliteValue } from "../runtime/sqlite.ts";
import { decide } from "./books.ts";
import type { Changes, HoldEnding, NewHold } from "./books-changes.ts";
import {
  type AccountState,
  type BooksState,
  type HoldState,
  type KeyState,
  referencesOf,
} from "./books-state.ts";
import { type Command, movesMoney, type Outcome, type RecordCommand } from "./commands.ts";
import { recordAnswer, recordStatement } from "./records.ts";

/** The books in a SQLite database. */
export interface SqliteStore {
  /**
   * Runs the commands as one transaction and answers each. When one of them fails in a way that nobody expected, all
   * are run again one by one, so that it alone is answered with a failure.
   */
  apply(commands: readonly Command[]): readonly Outcome[];
}

/**
 * Books over `database`, which must have the current schema. `onLost` is called when the disk has failed to keep what
 * was written: what a sync has dropped, no later one brings back, so that nothing after it can be trusted.
 */
export function openSqliteStore(
  database: SqliteDatabase,
  failpoint: Failpoint = noFailpoint,
  onLost: (reason: string) => void = () => {},
): SqliteStore {
  const statements = prepareStatements(database);
  const record = createRecorder(database);
  const work = (commands: readonly Command[]): Outcome[] => {
    const outcomes = new Map<Command, Outcome>();
    for (const command of commands)
      if (!movesMoney(command)) outcomes.set(command, { answer: record(command) });
    const money = commands.filter(movesMoney);
    if (money.length > 0) {
      const decision = decide(load(statements, money), money);
      save(statements, decision.changes);
      money.forEach((command, i) => outcomes.set(command, decision.outcomes[i] as Outcome));
    }
    return commands.map((command) => outcomes.get(command) as Outcome);
  };
  const transaction = (commands: readonly Command[]): Outcome[] => {
    database.execute("begin immediate");
    try {
      const outcomes = work(commands);
      failpoint("writer.before_commit");
      database.execute("commit");
      failpoint("writer.after_commit");
      return outcomes;
    } catch (error) {
      if (isLostSync(error)) onLost((error as Error).message);
      rollback(database);
      throw error;
    }
  };
  const alone = (command: Command): Outcome => {
    try {
      return transaction([command])[0] as Outcome;
    } catch (error) {
      return { failure: error instanceof Error ? error.message : String(error) };
    }
  };
  return {
    apply(commands) {
      const [first] = commands;
      if (first === undefined) return [];
      if (commands.length === 1) return [alone(first)];
      try {
        return transaction(commands);
      } catch (error) {
        // A store that takes nothing takes nothing one by one either: every command hears it at once.
        if (isStoreFault(error)) return commands.map(() => ({ failure: (error as Error).message }));
        return commands.map(alone);
      }
    },
  };
}

/** A sync has failed: whether what was written is on the disk is not known, and asking again does not tell. */
function isLostSync(error: unknown): boolean {
  return /^SQLITE_IOERR_(DIR_)?FSYNC$/.test(codeOf(error));
}

/** Faults of the file and not of a command: locked, full, unreadable, read-only. */
function isStoreFault(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CORRUPT|CANTOPEN|NOTADB)/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** A failed commit may have ended the transaction already. */
function rollback(database: SqliteDatabase): void {
  try {
    database.execute("rollback");
  } catch {
    // Nothing was open: the engine had rolled back by itself.
  }
}

function createRecorder(database: SqliteDatabase) {
  const build = kyselyOver(database);
  return (command: RecordCommand) => {
    const { sql, parameters } = recordStatement(build, "sqlite", command);
    const statement = database.prepare(sql);
    const values = parameters as SqliteValue[];
    if (statement.givesRows) return recordAnswer(command, statement.all(...values));
    statement.run(...values);
    return recordAnswer(command, []);
  };
}

type Statements = ReturnType<typeof prepareStatements>;

function prepareStatements(database: SqliteDatabase) {
  const prepare = (sql: string): SqliteStatement => database.prepare(sql);
  return {
    account: prepare("select status, balance, held from accounts where id = ?"),
    key: prepare(
      "select account_id, revoked_at_ms, expires_at_ms, budget, spent, held from keys where id = ?",
    ),
    hold: prepare(
      `select account_id, key_id, request_id, model, price_version, amount, expected_cost, state, settled,
         end_reason, created_at_ms
       from holds where id = ?`,
    ),
    entry: prepare("select account_id, amount, balance_after from ledger where cause = ?"),
    changeAccount: prepare(
      `update accounts set balance = balance + ?2, held = held + ?3
       where id = ?1 and held + ?3 >= 0 and balance + ?2 >= held + ?3`,
    ),
    changeKey: prepare("update keys set spent = spent + ?2, held = held + ?3 where id = ?1"),
    insertPrices: prepare(
      "insert into price_versions (version, model, rules, created_at_ms) values (?, ?, ?, ?) on conflict do nothing",
    ),
    insertHold: prepare(
      `insert into holds
         (id, account_id, key_id, request_id, boot_id, model, amount, expected_cost, price_version, created_at_ms,
          expires_at_ms, state, settled, end_reason, ended_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    endHold: prepare(
      `update holds set state = ?2, settled = ?3, end_reason = ?4, ended_at_ms = ?5 where id = ?1 and state = 'held'`,
    ),
    insertEntry: prepare(
      `insert into ledger
         (cause, account_id, key_id, counter, amount, balance_after, kind, request_id, reason, created_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertRequest: prepare(
      `insert into requests
         (id, account_id, key_id, hold_id, model, provider, outcome, charge, price_version, usage, flags, attempts,
          admitted_at_ms, held_at_ms, first_byte_at_ms, ended_at_ms, settled_at_ms)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ),
  };
}

function load(statements: Statements, commands: Parameters<typeof referencesOf>[0]): BooksState {
  const { accounts, keys, holds, causes } = referencesOf(commands);
  return {
    accounts: readAll(accounts, statements.account, accountState),
    keys: readAll(keys, statements.key, keyState),
    holds: readAll(holds, statements.hold, holdState),
    entries: readAll(causes, statements.entry, (_, row) => ({
      account: row.account_id as string,
      amount: row.amount as MicroCredits,
      balanceAfter: row.balance_after as MicroCredits,
    })),
  };
}

function readAll<State>(
  ids: ReadonlySet<string>,
  statement: SqliteStatement,
  read: (id: string, row: SqliteRow) => State,
): Map<string, State> {
  const found = new Map<string, State>();
  for (const id of ids) {
    const row = statement.get(id);
    if (row !== undefined) found.set(id, read(id, row));
  }
  return found;
}

function accountState(id: string, row: SqliteRow): AccountState {
  return {
    id,
    active: row.status === "active",
    balance: row.balance as MicroCredits,
    held: row.held as MicroCredits,
  };
}

function keyState(id: string, row: SqliteRow): KeyState {
  return {
    id,
    account: row.account_id as string,
    revoked: row.revoked_at_ms !== null,
    expiresAtMs: row.expires_at_ms === null ? null : Number(row.expires_at_ms),
    budget: row.budget as MicroCredits | null,
    spent: row.spent as MicroCredits,
    held: row.held as MicroCredits,
  };
}

function holdState(id: string, row: SqliteRow): HoldState {
  return {
    id,
    account: row.account_id as string,
    key: row.key_id as string,
    requestId: row.request_id as string,
    model: row.model as string,
    priceVersion: row.price_version as string,
    amount: row.amount as MicroCredits,
    expectedCost: row.expected_cost as MicroCredits,
    state: row.state as HoldState["state"],
    settled: row.settled as MicroCredits | null,
    endReason: row.end_reason as string | null,
    createdAtMs: Number(row.created_at_ms),
  };
}

/** Writes what was decided. A row that is not as it was when that was decided makes the whole fail. */
function save(statements: Statements, changes: Changes): void {
  for (const { version, model, rules, createdAtMs } of changes.prices.values())
    statements.insertPrices.run(version, model, rules, createdAtMs);
  for (const { id, balance, held } of changes.accounts.values())
    mustChange(statements.changeAccount.run(id, balance, held), id);
  for (const { id, spent, held } of changes.keys.values())
    mustChange(statements.changeKey.run(id, spent, held), id);
  for (const made of changes.newHolds.values()) insertHold(statements, made);
  for (const ending of changes.endedHolds.values()) endHold(statements, ending);
  for (const entry of changes.entries) {
    statements.insertEntry.run(
      entry.cause,
      entry.account,
      entry.key,
      entry.counter,
      entry.amount,
      entry.balanceAfter,
      entry.kind,
      entry.requestId,
      entry.reason,
      entry.createdAtMs,
    );
  }
  for (const request of changes.requests) insertRequest(statements, request);
}

function insertHold(statements: Statements, made: NewHold): void {
  statements.insertHold.run(
    made.id,
    made.account,
    made.key,
    made.requestId,
    made.boot,
    made.model,
    made.amount,
    made.expectedCost,
    made.priceVersion,
    made.createdAtMs,
    made.expiresAtMs,
    made.ending?.state ?? "held",
    made.ending?.settled ?? null,
    made.ending?.endReason ?? null,
    made.ending?.endedAtMs ?? null,
  );
}

function endHold(statements: Statements, ending: HoldEnding): void {
  const { id, state, settled, endReason, endedAtMs } = ending;
  mustChange(statements.endHold.run(id, state, settled, endReason, endedAtMs), id);
}

function insertRequest(statements: Statements, request: Changes["requests"][number]): void {
  statements.insertRequest.run(
    request.id,
    request.account,
    request.key,
    request.hold,
    request.model,
    request.provider,
    request.outcome,
    request.charge,
    request.priceVersion,
    request.usage,
    request.flags,
    request.attempts,
    request.admittedAtMs,
    request.heldAtMs,
    request.firstByteAtMs,
    request.endedAtMs,
    request.settledAtMs,
  );
}

function mustChange(rows: number, id: string): void {
  if (rows !== 1) throw new Error(`The row ${id} was not as it had been read.`);
}
