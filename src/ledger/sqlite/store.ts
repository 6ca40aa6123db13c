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
 * Tables in `database`, which must have the current schema. `onLost` is called when the disk has failed, in a commit,
 * to keep what was written. No later sync brings back what one has dropped, so nothing after it can be trusted.
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
    write({ records, money = [], isLazy = false, number }) {
      let isCommitting = false;
      let returned: Extract<Written, { rows: unknown }>["rows"] = [];
      try {
        if (isLazy !== wasLazy) database.execute(`pragma synchronous = ${isLazy ? "normal" : "full"}`);
        wasLazy = isLazy;
        database.execute("begin immediate");
        returned = records.map(record);
        if (money.length > 0) {
          rows.save(money);
          failpoint("tables.before_mark");
        }
        if (number !== undefined) setMark(database, number);
        failpoint("writer.before_commit");
        isCommitting = true;
        database.execute("commit");
        failpoint("writer.after_commit");
        return { rows: returned };
      } catch (error) {
        const isLost = isCommitting && primaryOf(error) === "IOERR";
        if (isLost) onLost((error as Error).message);
        const wasOpen = rollback(database);
        // The engine has ended the transaction by itself, one way or the other: the mark tells which.
        if (isCommitting && !wasOpen && !isLost) {
          if (number === undefined) throw error;
          if (readMark(database) === number) return { rows: returned };
        }
        return failureOf(error);
      }
    },
  };
}

/** The number of the last record of the journal, or of the last batch beside it, that the tables have. */
export function readMark(database: SqliteDatabase): number {
  return Number(database.prepare("select number from journal").get()?.number);
}

function setMark(database: SqliteDatabase, number: number): void {
  database.prepare("update journal set number = ?").run(number);
}

/**
 * SQLite's codes for a write that is itself at fault: the same write would be refused again. So would one that fails in
 * our own code, which has no such code. Every other code is the store's (no room, no memory, locked, unreadable, made
 * by other hands): it may take the same write another time.
 */
const REFUSALS: ReadonlySet<string> = new Set(["CONSTRAINT", "MISMATCH", "RANGE", "TOOBIG"]);

function failureOf(error: unknown): Failure {
  const failure = error instanceof Error ? error.message : String(error);
  const primary = primaryOf(error);
  return primary === undefined || REFUSALS.has(primary) ? { failure } : { failure, passing: true };
}

/** The primary code of SQLite's error, as `IOERR` of `SQLITE_IOERR_FSYNC`. */
function primaryOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return /^SQLITE_([A-Z]+)/.exec(String(error.code))?.[1];
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
