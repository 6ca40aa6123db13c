import { noFailpoint, type Failpoint } from "../../core/failpoint.ts";
import { kyselyOver } from "../../db/sqlite.ts";
import type { SqliteDatabase, SqliteValue } from "../../runtime/sqlite.ts";
import { decide } from "../decide/books.ts";
import { referencesOf } from "../decide/state.ts";
import { type Command, type Failure, movesMoney, type Outcome, type RecordCommand } from "../commands.ts";
import { recordAnswer, recordStatement } from "../records.ts";
import { openSqliteRows } from "./rows.ts";

/** The books in a SQLite database. */
export interface SqliteStore {
  /**
   * Runs the commands as one transaction and answers each. When one of them fails unexpectedly, all are run again one
   * by one, so that only this one gets a failure.
   */
  apply(commands: readonly Command[]): readonly Outcome[];
}

/**
 * Books over `database`, which must have the current schema. `onLost` is called when the disk has failed to keep what
 * was written: no later sync brings back what one has dropped, so nothing after it can be trusted.
 */
export function openSqliteStore(
  database: SqliteDatabase,
  failpoint: Failpoint = noFailpoint,
  onLost: (reason: string) => void = () => {},
): SqliteStore {
  const rows = openSqliteRows(database);
  const record = createRecorder(database);
  const work = (commands: readonly Command[]): Outcome[] => {
    const outcomes = new Map<Command, Outcome>();
    for (const command of commands)
      if (!movesMoney(command)) outcomes.set(command, { answer: record(command) });
    const money = commands.filter(movesMoney);
    if (money.length > 0) {
      const decision = decide(rows.load(referencesOf(money)), money);
      rows.save(decision.changes);
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
      return failureOf(error);
    }
  };
  return {
    apply(commands) {
      if (commands.length === 1) return commands.map(alone);
      try {
        return transaction(commands);
      } catch (error) {
        // A store that takes no write takes none one by one either: every command fails at once.
        if (isStoreFault(error)) return commands.map(() => failureOf(error));
        return commands.map(alone);
      }
    },
  };
}

/** A sync has failed: it is not known, and cannot be found out, whether what was written is on the disk. */
function isLostSync(error: unknown): boolean {
  return /^SQLITE_IOERR_(DIR_)?FSYNC$/.test(codeOf(error));
}

/** Faults of the file and not of a command: locked, full, unreadable, read-only. */
function isStoreFault(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CORRUPT|CANTOPEN|NOTADB)/.test(codeOf(error));
}

function failureOf(error: unknown): Failure {
  const failure = error instanceof Error ? error.message : String(error);
  return isStoreFault(error) ? { failure, passing: true } : { failure };
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
