import { type Failpoint, noFailpoint } from "../../core/failpoint.ts";
import { newId } from "../../core/ids.ts";
import { systemRandom } from "../../core/random.ts";
import { systemClock } from "../../core/time/clock.ts";
import { openForWriting } from "../../db/sqlite-file.ts";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";
import type { Gap } from "./gaps.ts";
import { openIntents, readIntents } from "../intents.ts";
import { journalAt } from "./journal-file.ts";
import { openJournalStore } from "./journal-store.ts";
import { type Keeper, openKeeper } from "./keeper.ts";
import { readMark } from "./store.ts";
import { takeOverJournal } from "./take-over.ts";
import { openThreadStore } from "./thread-store.ts";

/** What the books in a file are kept with. */
export interface KeptBooks {
  readonly file: string;
  readonly failpoint?: Failpoint;
  /** The failpoint of the thread, as `name:action[:nth]`. */
  readonly threadFailpoint?: string | undefined;
  /** Called when the disk has failed to keep what was written: nothing is written any more. */
  readonly onLost?: ((reason: string) => void) | undefined;
  /** Called when the tables lack what a journal had; it is written down there as well. */
  readonly onGap?: ((gap: Gap) => void) | undefined;
}

/** Takes over the books in `file`, which this process has to itself, with the holds that the run before noted beside it. */
export async function keepBooks(kept: KeptBooks): Promise<Keeper> {
  const { file, failpoint = noFailpoint, threadFailpoint, onLost, onGap } = kept;
  let lost: string | undefined;
  const lose = (reason: string): void => {
    if (lost !== undefined) return;
    lost = reason;
    onLost?.(reason);
  };
  const home = journalAt(`${file}.journal`);
  const takenOver = within(openForWriting(file), (database) =>
    takeOverJournal(database, home, () => newId("books", systemRandom)),
  );
  const store = await openJournalStore({
    ...takenOver,
    home,
    tables: openThreadStore({ databaseFile: file, failpoint: threadFailpoint ?? null }, lose),
    readMark: () => within(openSqlite(file, { readonly: true }), readMark),
    onGap: onGap ?? (() => {}),
    onLost: lose,
    isLost: () => lost !== undefined,
    pace: systemClock,
    failpoint,
  });
  const notes = `${file}.intents`;
  const { id } = takenOver.journal;
  return openKeeper({
    store,
    left: readIntents(notes, id),
    openIntents: (open) => openIntents(notes, id, open, failpoint),
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
