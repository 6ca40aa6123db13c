import type { BooksState } from "../decide/state.ts";
import type { Batch, Written } from "./batch.ts";
import { createGathering, type GatheringParts } from "./gathering.ts";
import { gapStatement } from "./gaps.ts";
import { journalFaults } from "./journal-check.ts";
import type { JournalHome } from "./journal-file.ts";
import type { TakenOver } from "./take-over.ts";
import type { BooksStore } from "./thread-store.ts";

/** What a journal in front of the tables is made of. */
export interface JournalParts extends GatheringParts, TakenOver {
  readonly home: JournalHome;
  readonly isLost: () => boolean;
}

/** Tables behind a journal. */
export interface JournaledStore extends BooksStore {
  /**
   * Compares the journal's files with what was written to them, and the tables with what is after their mark with
   * `known`. Resolves with one sentence or id for each difference. Nothing may be written meanwhile.
   */
  compareJournal(known: BooksState): Promise<readonly string[]>;
}

/**
 * Tables behind a journal. Changes of requests are durable once they are in it, by one write each batch. They come into
 * the tables later, many at a time, together with the number of the last of them. Everything else is written to the
 * tables themselves, after what came before it. Resolves once the tables have what the run before had left in the
 * journal; rejects with one sentence when they do not take it. One write at a time: the caller sees to that.
 */
export async function openJournalStore(parts: JournalParts): Promise<JournaledStore> {
  const { tables, home, journal, readMark, onLost, isLost, failpoint } = parts;
  const gathering = createGathering(parts, parts);
  /** The number of the last record that this run has written to the journal. */
  let written = 0;

  /** Makes room by going on in the other file, once its records are durable in the tables. */
  const makeRoom = async (bytes: number): Promise<void> => {
    if (journal.hasRoom(bytes)) return;
    if (journal.lastOfOther() > gathering.inTables()) await gathering.move(true);
    journal.turn();
    failpoint("journal.turned");
  };

  const append = async (text: string, bytes: Buffer, nobodyWaits: boolean | undefined): Promise<Written> => {
    try {
      await journal.mend();
      await makeRoom(bytes.length);
      failpoint("journal.before_write");
      await journal.write(gathering.last() + 1, bytes, nobodyWaits);
    } catch (error) {
      const failure = String(error);
      if (/\bEIO\b/.test(failure)) onLost(failure);
      return { failure, passing: true };
    }
    gathering.add(text);
    written = gathering.last();
    failpoint("journal.after_write");
    if (journal.isHalfFull() && journal.lastOfOther() > gathering.inTables())
      void gathering.move(true).catch(() => undefined);
    return { rows: [] };
  };

  const direct = async (batch: Batch): Promise<Written> => {
    try {
      await gathering.move(false);
    } catch (error) {
      return { failure: String(error), passing: true };
    }
    return gathering.beside(batch);
  };

  const close = async (): Promise<void> => {
    gathering.stop();
    journal.close();
    await tables.close();
  };

  try {
    await begin(parts, gathering);
  } catch (error) {
    await close();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The database cannot be written now: ${reason}. Start again when it can.`, {
      cause: error,
    });
  }
  return {
    async load(references) {
      await gathering.move(false);
      return tables.load(references);
    },
    write(batch) {
      const [changes] = batch.money ?? [];
      if (changes === undefined || batch.isJournaled !== true) return direct(batch);
      const bytes = Buffer.from(changes.changes);
      return journal.isTooLong(bytes.length)
        ? direct(batch)
        : append(changes.changes, bytes, batch.nobodyWaits);
    },
    current: () => gathering.move(false),
    compareJournal: (known) =>
      gathering.look((gathered) =>
        journalFaults({ files: home.read(), id: journal.id, mark: readMark(), written }, gathered, {
          known,
          load: (references) => tables.load(references),
        }),
      ),
    async close() {
      // What cannot come into the tables now is found in the journal by the next start.
      if (!isLost())
        await gathering
          .move(true)
          .then(() => tables.write({ records: [CLOSED] }))
          .catch(() => undefined);
      await close();
    },
  };
}

/** Brings into the tables what the run before had not, and writes down which journal is theirs. */
async function begin(
  { journal, gap, onGap, pace, failpoint }: JournalParts,
  gathering: ReturnType<typeof createGathering>,
): Promise<void> {
  failpoint("replay.before_move");
  await gathering.move(true);
  failpoint("replay.after_move");
  const records = [
    { sql: "update journal set journal = ?, is_closed = 0", values: [journal.id] },
    ...(gap === undefined ? [] : [gapStatement(gap, pace.nowMs())]),
  ];
  const done = await gathering.beside({ records });
  if ("failure" in done) throw new Error(done.failure);
  if (gap !== undefined) onGap(gap);
}

const CLOSED = { sql: "update journal set is_closed = 1", values: [] };
