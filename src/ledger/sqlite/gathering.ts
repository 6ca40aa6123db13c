import type { Failpoint } from "../../core/failpoint.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { Batch, Written } from "./batch.ts";
import { type Gap, gapStatement } from "./gaps.ts";
import type { JournalRecord } from "./journal-file.ts";
import type { BooksStore } from "./thread-store.ts";

/** What moves records from the journal into the tables. */
export interface GatheringParts {
  readonly tables: BooksStore;
  /** The number of the last record, or of the last batch beside the journal, that the tables have. */
  readonly readMark: () => number;
  /** Called when the tables refuse a record for good: it was set aside, and clients were told of its charges. */
  readonly onGap: (gap: Gap) => void;
  /** Called when what is in the journal can neither come into the tables nor be set aside: nothing is written any more. */
  readonly onLost: (reason: string) => void;
  /** Real time: it gathers what goes into the tables, and tells when a record was set aside. */
  readonly pace: Clock;
  readonly failpoint: Failpoint;
}

/** Records on their way from the journal into the tables. All that is counted has one number after the other. */
export interface Gathering {
  /** The number of the last record of the journal, or of the last batch beside it. */
  last(): number;
  /** The number of the last that is durable in the tables. */
  inTables(): number;
  /** The record after `last` is in the journal: it is moved soon. */
  add(text: string): void;
  /**
   * Brings what has gathered into the tables, and with `isSynced` onto the disk. Rejects when they do not take it now;
   * it is then tried again.
   */
  move(isSynced: boolean): Promise<void>;
  /** Writes a batch to the tables, after all that has gathered. It has a number too: the tables' mark moves with it. */
  beside(batch: Batch): Promise<Written>;
  /** Looks while nothing is moved, with what the tables do not have yet. */
  look<Seen>(seen: (gathered: readonly JournalRecord[]) => Promise<Seen>): Promise<Seen>;
  stop(): void;
}

/**
 * How long changes gather on their way into the tables: each move writes the last pages of the tables once more. A read
 * that has to be current does not wait for it.
 */
const GATHER_MS = 250;

/** Batches of changes that are gathered at most. */
const MOST_GATHERED = 256;

/** How long the tables are left alone that did not take changes. */
const RETRY_MS = 1_000;

/** Begins with the records of `left`, which follow the tables' `mark`. */
export function createGathering(from: Counted, parts: GatheringParts): Gathering {
  const { pace } = parts;
  const { state, moveNow, besideNow } = createMoves(from, parts);
  let timer: { cancel(): void } | undefined;
  let moving: Promise<unknown> = Promise.resolve();

  const inTurn = <Done>(work: () => Promise<Done>): Promise<Done> => {
    const done = moving.then(work);
    moving = done.catch(() => undefined);
    return done;
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
    const done = inTurn(() => moveNow(isSynced));
    done.catch(() => later(RETRY_MS));
    return done;
  };

  return {
    last: () => state.last,
    inTables: () => state.inTables,
    add(text) {
      state.last += 1;
      state.gathered.push({ number: state.last, text });
      if (state.gathered.length >= MOST_GATHERED) void move(false).catch(() => undefined);
      else later(GATHER_MS);
    },
    move,
    beside: (batch) => inTurn(() => besideNow(batch)),
    look: (seen) => inTurn(() => seen([...state.gathered])),
    stop,
  };
}

/** Where the tables stand, and the records after that. */
interface Counted {
  readonly mark: number;
  readonly left: readonly JournalRecord[];
}

/** The writes to the tables, one at a time. */
function createMoves(
  { mark, left }: Counted,
  { tables, readMark, onGap, onLost, pace, failpoint }: GatheringParts,
) {
  const state = { last: left.at(-1)?.number ?? mark, inTables: mark, gathered: [...left] };
  /** Whether it is not known what became of the last write. */
  let isUnsure = false;

  const write = async (batch: Batch): Promise<Written> => {
    isUnsure = true;
    const done = await tables.write(batch);
    isUnsure = false;
    return done;
  };

  /** Of the last write the tables have all or nothing. */
  const makeSure = (): void => {
    if (!isUnsure) return;
    const known = readMark();
    state.gathered = state.gathered.filter(({ number }) => number > known);
    state.last = Math.max(state.last, known);
    isUnsure = false;
  };

  const setAside = async ({ number, text }: JournalRecord, refusal: string): Promise<void> => {
    const reason = `The tables refused record ${number}: ${refusal}`;
    const gap: Gap = { kind: "refused", reason, refused: { number, text } };
    const done = await write({ records: [gapStatement(gap, pace.nowMs())], number });
    if ("rows" in done) return onGap(gap);
    if (done.passing !== true) onLost(`a record can neither be written nor be set aside: ${done.failure}`);
    throw new Error(done.failure);
  };

  /** One by one, where the tables refused them together; what they refuse alone is set aside. */
  const moveApart = async (records: readonly JournalRecord[], isLazy: boolean): Promise<void> => {
    for (const record of records) {
      const done = await write({ records: [], money: [changesOf(record)], number: record.number, isLazy });
      if ("failure" in done) {
        if (done.passing === true) throw new Error(done.failure);
        await setAside(record, done.failure);
      }
      state.gathered = state.gathered.filter((other) => other !== record);
    }
  };

  return {
    state,
    async moveNow(isSynced: boolean): Promise<void> {
      makeSure();
      const { last: number } = state;
      if (state.gathered.length === 0 && !(isSynced && state.inTables < number)) return;
      // More may gather meanwhile.
      const records = [...state.gathered];
      failpoint("tables.before_move");
      const done = await write({ records: [], money: records.map(changesOf), number, isLazy: !isSynced });
      if ("rows" in done) state.gathered = state.gathered.slice(records.length);
      else if (done.passing === true) throw new Error(done.failure);
      else await moveApart(records, !isSynced);
      failpoint("tables.after_move");
      if (isSynced) state.inTables = number;
    },
    async besideNow(batch: Batch): Promise<Written> {
      const number = state.last + 1;
      const done = await write({ ...batch, number });
      // A synced commit makes those before it durable too.
      if ("rows" in done) state.last = state.inTables = number;
      return done;
    },
  };
}

const NO_PAYLOADS: ReadonlyMap<string, Uint8Array> = new Map();

const changesOf = ({ text }: JournalRecord) => ({ changes: text, payloads: NO_PAYLOADS });
