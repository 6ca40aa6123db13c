import { noFailpoint, type Failpoint } from "../../core/failpoint.ts";
import type { SqliteDatabase, SqliteRow, SqliteValue } from "../../runtime/sqlite.ts";
import type { Failure } from "../commands.ts";
import type { BooksState, References } from "../decide/state.ts";
import type { Batch, RecordStatement, Written } from "./batch.ts";
import { openSqliteRows } from "./rows.ts";

/** The tables of the books in a SQLite database. */
export interface SqliteStore {
  /** The rows that are referred to, as they were last written. */
  load(references: References): BooksState;
  /** Writes the batch as one transaction: all of it or nothing. Throws when it cannot be known which. */
  write(batch: Batch): Written;
}

/**
 * Tables in `database`, which must have the current schema. `onLost` is called when the disk has failed to keep what
 * was written: no later sync brings back what one has dropped, so nothing after it can be trusted.
 */
export function openSqliteStore(
  database: SqliteDatabase,
  failpoint: Failpoint = noFailpoint,
  onLost: (reason: string) => void = () => {},
): SqliteStore {
  const rows = openSqliteRows(database);

  /** The database is opened to sync every commit. */
  let wasLazy = false;

  const record = ({ sql, values }: RecordStatement): readonly SqliteRow[] => {
    const statement = database.prepare(sql);
    if (statement.givesRows) return statement.all(...(values as SqliteValue[]));
    statement.run(...(values as SqliteValue[]));
    return [];
  };

  return {
    load: rows.load,
    write({ records, money = [], isLazy = false }) {
      let isCommitting = false;
      try {
        if (isLazy !== wasLazy) database.execute(`pragma synchronous = ${isLazy ? "normal" : "full"}`);
        wasLazy = isLazy;
        database.execute("begin immediate");
        const returned = records.map(record);
        for (const changes of money) rows.save(changes);
        failpoint("writer.before_commit");
        isCommitting = true;
        database.execute("commit");
        failpoint("writer.after_commit");
        return { rows: returned };
      } catch (error) {
        if (isLostSync(error)) onLost((error as Error).message);
        const wasOpen = rollback(database);
        // The engine has ended the transaction by itself, one way or the other.
        if (isCommitting && !wasOpen && !isLostSync(error)) throw error;
        return failureOf(error);
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

/** Whether a transaction was open, which is rolled back then: a failed commit may have ended it already. */
function rollback(database: SqliteDatabase): boolean {
  try {
    database.execute("rollback");
    return true;
  } catch {
    return false;
  }
}
