import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import type { Gap } from "./gaps.ts";
import type { JournalFile, JournalHome, JournalRecord } from "./journal-file.ts";
import { readMark } from "./store.ts";

/** A journal that is open for writing, and what it has for the tables. */
export interface TakenOver {
  readonly journal: JournalFile;
  /** The number of the last record, or of the last batch beside the journal, that the tables have. */
  readonly mark: number;
  /** The records after it: their numbers follow the mark without a gap. */
  readonly left: readonly JournalRecord[];
  /** What is missing, where the journal is not that of the tables as they now are. */
  readonly gap: Gap | undefined;
}

/**
 * Opens the journal of `database`. A journal that does not go on from the tables is of another copy of them. It is set
 * aside, and a new one with the id of `newId` takes its place.
 */
export function takeOverJournal(database: SqliteDatabase, home: JournalHome, newId: () => string): TakenOver {
  const row = database.prepare("select journal, is_closed from journal").get();
  const mark = readMark(database);
  const found = home.read();
  const named = found !== undefined && found.id === row?.journal ? found : undefined;
  const after = named?.records.filter(({ number }) => number > mark) ?? [];
  const follows = after.every(({ number }, i) => number === mark + 1 + i);
  if (named !== undefined && follows)
    return { journal: home.open(named.id), mark, left: after, gap: undefined };
  const id = newId();
  const reason =
    named === undefined
      ? Number(row?.is_closed) === 0 && row?.journal !== null && COPIED
      : olderThan(after[0]?.number ?? 0, mark, id);
  const gap = reason === false ? undefined : ({ kind: "incomplete", reason } as const);
  return { journal: home.open(id), mark, left: [], gap };
}

const COPIED =
  "The database was copied from a running gateway without its journal: charges of the last moments before are missing.";

const olderThan = (first: number, mark: number, id: string): string =>
  `The database is older than the journal beside it (record ${first}, and the database has ${mark}): grants, keys and charges since then are missing. The journal was set aside as *.before-${id}.`;
