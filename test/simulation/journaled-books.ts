import type { FailpointName } from "../../src/core/failpoint.ts";
import type { Clock } from "../../src/core/time/clock.ts";
import type { Intent } from "../../src/ledger/intents.ts";
import { openJournalStore } from "../../src/ledger/sqlite/journal-store.ts";
import { openKeeper, type Keeper } from "../../src/ledger/sqlite/keeper.ts";
import { openSqliteStore, readMark } from "../../src/ledger/sqlite/store.ts";
import { takeOverJournal } from "../../src/ledger/sqlite/take-over.ts";
import type { BooksStore } from "../../src/ledger/sqlite/thread-store.ts";
import type { SqliteDatabase } from "../../src/runtime/sqlite.ts";
import { type Fate, type KeptBooks, readWithHolds } from "./kept-books.ts";
import { memoryJournal } from "./memory-journal.ts";

/** A place between two steps at which the process may die. */
export type Place = FailpointName | "tables.before_write" | "tables.after_write" | "journal.written";

/** What becomes of a run of the process. */
interface Run {
  isDead: boolean;
}

/**
 * The real keeper with its journal, in memory: notes, journal and tables outlive the process. Each write of the tables
 * and of the journal asks `fateOf` what becomes of it; each step asks `dies` whether the process dies at it.
 */
export async function openJournaledBooks(
  database: SqliteDatabase,
  fateOf: () => Fate | Promise<Fate>,
  dies: (at: Place) => boolean = () => false,
): Promise<KeptBooks> {
  const notes: Intent[] = [];
  const tables = openSqliteStore(database);
  let run: Run = { isDead: false };
  let openNow: () => Iterable<Intent> = () => [];

  /** A step of `own`, which the process may not come to. */
  const step = (own: Run, at: Place): void => {
    if (!own.isDead && dies(at)) own.isDead = true;
    if (own.isDead) throw new Error(`killed at ${at}`);
  };

  const journal = memoryJournal(async (when) => {
    const own = run;
    if (when === "after") return step(own, "journal.written");
    const fate = await fateOf();
    step(own, "journal.before_write");
    if (fate !== "done") throw new Error("ENOSPC");
  });

  const tablesOf = (own: Run): BooksStore => ({
    async load(references) {
      if (own.isDead) throw new Error("killed");
      return tables.load(references);
    },
    async write(batch) {
      const fate = await fateOf();
      step(own, "tables.before_write");
      if (fate === "refused") return { failure: "the disk is full", passing: true };
      if (fate === "lost before") throw new Error("the thread died");
      const written = tables.write(batch);
      step(own, "tables.after_write");
      if (fate === "lost after") throw new Error("the thread died");
      return written;
    },
    current: async () => {},
    close: async () => {},
  });

  const open = async (): Promise<Keeper> => {
    const own: Run = { isDead: false };
    run = own;
    const taken = takeOverJournal(database, journal, () => crypto.randomUUID());
    if (taken.gap !== undefined) throw new Error(taken.gap.reason);
    const failpoint = (name: FailpointName): void => step(own, name);
    const store = await openJournalStore({
      ...taken,
      home: journal,
      tables: tablesOf(own),
      readMark: () => readMark(database),
      onGap: (gap) => {
        throw new Error(gap.reason);
      },
      onLost: (reason) => {
        throw new Error(reason);
      },
      isLost: () => own.isDead,
      pace: soon(own),
      failpoint,
    });
    return openKeeper({
      store,
      left: [...notes],
      openIntents(holds) {
        openNow = holds;
        notes.splice(0, notes.length, ...holds());
        return {
          note(intent) {
            step(own, "note.before_write");
            notes.push(intent);
            step(own, "note.after_write");
          },
          close() {},
        };
      },
      lost: () => (own.isDead ? "killed" : undefined),
    });
  };

  const insistOnOpen = async (): Promise<Keeper> => {
    for (;;) {
      const opened = await open().catch((error: Error) => error);
      if (!(opened instanceof Error)) return opened;
      if (!opened.message.startsWith("The database cannot be written now")) throw opened;
    }
  };
  let keeper = await insistOnOpen();
  return {
    keeper: () => keeper,
    isDead: () => run.isDead,
    async restart() {
      run.isDead = true;
      keeper = await insistOnOpen();
    },
    async read() {
      for (let isCurrent = false; !isCurrent;)
        isCurrent = await keeper.current().then(
          () => true,
          () => false,
        );
      return readWithHolds(database, openNow());
    },
  };
}

/** Timers of a run fall due some turns of the event loop later, whatever time they were set for. */
function soon(own: Run): Clock {
  return {
    nowMs: () => 1,
    steadyMs: () => 1,
    setTimer(_, due) {
      let isCancelled = false;
      void (async () => {
        for (let turns = 0; turns < 7; turns += 1) await Promise.resolve();
        if (!isCancelled && !own.isDead) due();
      })();
      return { cancel: () => void (isCancelled = true) };
    },
  };
}
