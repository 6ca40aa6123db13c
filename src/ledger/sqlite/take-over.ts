import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { type JournalFile, openJournalFile, readJournal } from "./journal-file.ts";
import { openSqliteStore } from "./store.ts";

/** A journal whose records are all in the tables. */
export interface TakenOver {
  readonly journal: JournalFile;
  /** The number of its last record. */
  readonly last: number;
}

/** Where a journal stands. */
export interface JournalPlace {
  /** The database that it belongs to. */
  readonly database: SqliteDatabase;
  /** The beginning of its files' names. */
  readonly prefix: string;
  /** Names a new journal. */
  readonly newId: () => string;
  /** Called when the database was copied without the journal that it needs: what was in that is missing. */
  readonly onIncomplete: () => void;
}

/** The number of the last record that the tables have. */
export function readMark(database: SqliteDatabase): number {
  return Number(database.prepare("select number from journal").get()?.number);
}

/**
 * Opens the journal, and brings into the tables what the run before had not. Throws one sentence when the journal does
 * not fit them.
 */
export function takeOverJournal({ database, prefix, newId, onIncomplete }: JournalPlace): TakenOver {
  const row = database.prepare("select journal, is_closed from journal").get();
  const mark = readMark(database);
  const left = readJournal(prefix);
  const isNamed = left !== undefined && left.id === row?.journal;
  const after = isNamed ? left.records.filter(({ number }) => number > mark) : [];
  // One that does not go on from the tables is of another copy of them, and is made anew.
  const isOurs = isNamed && after.every(({ number }, i) => number === mark + 1 + i);
  if (!isOurs && row?.journal !== null && Number(row?.is_closed) === 0) onIncomplete();
  const records = isOurs ? after : [];
  const last = mark + records.length;
  const journal = openJournalFile(prefix, isOurs ? left.id : newId());
  const done = openSqliteStore(database).write({
    records: [
      {
        sql: "update journal set journal = ?, number = ?, is_closed = 0",
        values: [journal.id, last],
      },
    ],
    money: records.map(({ text }) => ({ changes: text, payloads: new Map() })),
  });
  if ("rows" in done) return { journal, last };
  journal.close();
  if (done.passing === true)
    throw new Error(`The database cannot be written now: ${done.failure}. Start again when it can.`);
  throw new Error(
    `The journal beside the database does not fit it (${done.failure}). It has charges that clients were told of. Where the database comes from a backup, move ${prefix}-a and ${prefix}-b to another folder.`,
  );
}
