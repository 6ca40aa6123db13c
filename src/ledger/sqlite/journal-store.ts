import type { Clock } from "../../core/time/clock.ts";
import type { Batch, Written, WrittenChanges } from "./batch.ts";
import type { TakenOver } from "./take-over.ts";
import type { BooksStore } from "./thread-store.ts";

/** What a journal in front of the tables is made of. */
export interface JournalParts extends TakenOver {
  readonly tables: BooksStore;
  /** The number of the last record that the tables have. */
  readonly readMark: () => number;
  /** Called when what is in the journal cannot come into the tables, or the disk fails: nothing is written any more. */
  readonly onLost: (reason: string) => void;
  readonly isLost: () => boolean;
  /** Real time: it gathers what goes into the tables, and nothing that is stored depends on it. */
  readonly pace: Clock;
}

/** How long changes gather on their way into the tables. */
const GATHER_MS = 50;

/** Batches of changes that are gathered at most. */
const MOST_GATHERED = 256;

/** Refusals in a row after which the tables are taken to be wrong. */
const MOST_REFUSALS = 3;

/** How long the tables are left alone that did not take changes. */
const RETRY_MS = 1_000;

/**
 * Tables behind a journal: changes of requests are durable once they are in it, by one write each batch, and come into
 * the tables later, many at a time, together with the number of the last of them. Everything else is written to the
 * tables themselves, after what came before it.
 */
export function openJournalStore(parts: JournalParts): BooksStore {
  const { tables, journal, onLost, isLost } = parts;
  const gathering = createGathering(parts);

  /** Makes room by going on in the other file, once its records are durable in the tables. */
  const makeRoom = async (bytes: number): Promise<void> => {
    if (journal.hasRoom(bytes)) return;
    if (journal.lastOfOther() > gathering.inTables()) await gathering.move(true);
    journal.turn();
  };

  const append = async (changes: WrittenChanges, bytes: Buffer): Promise<Written> => {
    try {
      await journal.mend();
      await makeRoom(bytes.length);
      await journal.write(gathering.last() + 1, bytes);
    } catch (error) {
      const failure = String(error);
      if (/\bEIO\b/.test(failure)) onLost(failure);
      return { failure, passing: true };
    }
    gathering.add(changes);
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
    const last = gathering.last();
    const done = await tables.write(batch);
    // A synced commit makes those before it durable too.
    if ("rows" in done) gathering.isDurable(last);
    return done;
  };

  return {
    async load(references) {
      await gathering.move(false);
      return tables.load(references);
    },
    write(batch) {
      const [changes] = batch.money ?? [];
      if (changes === undefined || batch.isJournaled !== true) return direct(batch);
      const bytes = Buffer.from(changes.changes);
      return journal.isTooLong(bytes.length) ? direct(batch) : append(changes, bytes);
    },
    current: () => gathering.move(false),
    async close() {
      // What cannot come into the tables now is found in the journal by the next start.
      if (!isLost())
        await gathering
          .move(true)
          .then(() => tables.write({ records: [CLOSED] }))
          .catch(() => undefined);
      gathering.stop();
      journal.close();
      await tables.close();
    },
  };
}

/** Changes on their way from the journal into the tables. */
interface Gathering {
  /** The number of the last record of the journal. */
  last(): number;
  /** The number of the last record that is durable in the tables. */
  inTables(): number;
  /** Adds the changes of the next record; they are moved soon. */
  add(changes: WrittenChanges): void;
  /**
   * Brings what has gathered into the tables, and with `isSynced` onto the disk. Rejects when they do not take it now;
   * it is then tried again.
   */
  move(isSynced: boolean): Promise<void>;
  /** The tables are durable up to the record of this number. */
  isDurable(number: number): void;
  stop(): void;
}

function createGathering({ tables, last: first, readMark, onLost, pace }: JournalParts): Gathering {
  let [last, inTables] = [first, first];
  let gathered: WrittenChanges[] = [];
  /** Whether it is not known what became of the last try. */
  let isUnsure = false;
  /** How often in a row the tables refused changes, being well. */
  let refusals = 0;
  let timer: { cancel(): void } | undefined;
  let moving: Promise<void> = Promise.resolve();

  const moveNow = async (isSynced: boolean): Promise<void> => {
    if (isUnsure) {
      // Of the last try the tables have all or nothing.
      gathered = gathered.slice(Math.max(0, gathered.length - (last - readMark())));
      isUnsure = false;
    }
    if (gathered.length === 0 && !(isSynced && inTables < last)) return;
    // More may gather meanwhile.
    const [money, number] = [[...gathered], last];
    isUnsure = true;
    const done = await tables.write({ records: [markOf(number)], money, isLazy: !isSynced });
    isUnsure = false;
    if ("failure" in done) {
      if (done.passing !== true) refusals += 1;
      if (refusals === MOST_REFUSALS) onLost(`the journal does not fit the tables: ${done.failure}`);
      throw new Error(done.failure);
    }
    refusals = 0;
    gathered = gathered.slice(money.length);
    if (isSynced) inTables = number;
  };

  const later = (afterMs: number): void => {
    timer ??= pace.setTimer(afterMs, () => void move(false).catch(() => undefined));
  };

  const stop = (): void => {
    timer?.cancel();
    timer = undefined;
  };

  const move = (isSynced: boolean): Promise<void> => {
    stop();
    moving = moving.catch(() => undefined).then(() => moveNow(isSynced));
    moving.catch(() => later(RETRY_MS));
    return moving;
  };

  return {
    last: () => last,
    inTables: () => inTables,
    add(changes) {
      last += 1;
      gathered.push(changes);
      if (gathered.length >= MOST_GATHERED) void move(false).catch(() => undefined);
      else later(GATHER_MS);
    },
    move,
    isDurable(number) {
      inTables = Math.max(inTables, number);
    },
    stop,
  };
}

const CLOSED = { sql: "update journal set is_closed = 1", values: [] };

const markOf = (number: number) => ({ sql: "update journal set number = ?", values: [number] });
