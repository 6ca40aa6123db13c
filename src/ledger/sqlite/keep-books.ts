import { newId } from "../../core/ids.ts";
import { systemRandom } from "../../core/random.ts";
import { systemClock } from "../../core/time/clock.ts";
import { openForWriting } from "../../db/sqlite-file.ts";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";
import { openIntents, readIntents } from "./intents.ts";
import { type Keeper, openKeeper } from "./keeper.ts";
import { openJournalStore } from "./journal-store.ts";
import { readMark, takeOverJournal } from "./take-over.ts";
import { openThreadStore } from "./thread-store.ts";

/** What the books in a file are kept with. */
export interface KeptBooks {
  readonly file: string;
  /** The failpoint of the thread, as `name:action[:nth]`. */
  readonly failpoint: string | undefined;
  /** Called when the disk has failed to keep what was written: nothing is written any more. */
  readonly onLost?: ((reason: string) => void) | undefined;
  /** Called when the file was copied without the journal beside it: what was in it is missing. */
  readonly onIncomplete?: (() => void) | undefined;
}

/** Takes over the books in `file`, which this process has to itself, with the holds that the run before noted beside it. */
export async function keepBooks({ file, failpoint, onLost, onIncomplete }: KeptBooks): Promise<Keeper> {
  let lost: string | undefined;
  const lose = (reason: string): void => {
    if (lost !== undefined) return;
    lost = reason;
    onLost?.(reason);
  };
  const place = {
    prefix: `${file}.journal`,
    newId: () => newId("books", systemRandom),
    onIncomplete: onIncomplete ?? (() => {}),
  };
  const takenOver = within(openForWriting(file), (database) => takeOverJournal({ ...place, database }));
  const store = openJournalStore({
    ...takenOver,
    tables: openThreadStore({ databaseFile: file, failpoint: failpoint ?? null }, lose),
    readMark: () => within(openSqlite(file, { readonly: true }), readMark),
    onLost: lose,
    isLost: () => lost !== undefined,
    pace: systemClock,
  });
  const notes = `${file}.intents`;
  return openKeeper({
    store,
    left: readIntents(notes, takenOver.journal.id),
    openIntents: (open) => openIntents(notes, takenOver.journal.id, open),
    lost: () => lost,
  });
}

function within<Result>(database: SqliteDatabase, use: (database: SqliteDatabase) => Result): Result {
  try {
    return use(database);
  } finally {
    database.close();
  }
}
