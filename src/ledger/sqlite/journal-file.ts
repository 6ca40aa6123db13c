import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  openSync,
  readFileSync,
  renameSync,
  write,
  writeSync,
} from "node:fs";
import { crc32 } from "node:zlib";
import { type Clock, systemClock } from "../../core/time/clock.ts";

/**
 * The journal: two files of a fixed size that are written in turns, over and over. Their blocks are there from the
 * start. So a write waits for its own bytes alone, and for nothing that the file system notes about the file.
 */
export interface JournalFile {
  /** Names this journal: the database says which one belongs to it. */
  readonly id: string;
  /** Whether a record of so many bytes fits into no file at all. */
  isTooLong(bytes: number): boolean;
  /** Whether the file that is being written has room for a record of so many bytes. */
  hasRoom(bytes: number): boolean;
  /** Whether more than half of the file that is being written is full. */
  isHalfFull(): boolean;
  /** The last number in the other file; 0 where there is none. */
  lastOfOther(): number;
  /** Makes sure that nothing is left of a record whose write failed. */
  mend(): Promise<void>;
  /** Goes on at the beginning of the other file, whose records are lost by that. */
  turn(): void;
  /**
   * Writes a record; resolves when it is durable. With `nobodyWaits` this thread may write it itself: it then does nothing
   * else meanwhile, which costs less than to wake another. After a write that failed, the file is to be mended first.
   */
  write(number: number, bytes: Buffer, nobodyWaits?: boolean): Promise<void>;
  close(): void;
}

/** A record that was found. */
export interface JournalRecord {
  readonly number: number;
  readonly text: string;
}

/** Bytes of each of the two files. */
const FILE_BYTES = 1024 * 1024;

/** Each file begins with a line of text, filled up with spaces. */
const TITLE = "switchyard journal 1 ";
const TITLE_BYTES = 64;

/** Where the last write took longer, another thread makes the next, whoever waits. */
const PROMPT_MS = 2;

/** Length of the text, its number, and the checksum of both and the text: 4, 8 and 4 bytes. */
const HEAD_BYTES = 16;

const namesOf = (prefix: string): readonly [string, string] => [`${prefix}-a`, `${prefix}-b`];

/** A journal as its files have it. */
export interface ReadJournal {
  readonly id: string;
  /** In the order of their numbers. */
  readonly records: readonly JournalRecord[];
}

/** Where a journal stands: files, but for tests of what is in them. */
export interface JournalHome {
  /** What is there now; `undefined` where there is no journal. */
  read(): ReadJournal | undefined;
  /** Opens it for writing: made anew with this id where it has another or is not there. */
  open(id: string): JournalFile;
}

/** The journal of the files whose names begin with `prefix`. The clock measures writes: it is that of real time. */
export function journalAt(prefix: string, pace: Pick<Clock, "steadyMs"> = systemClock): JournalHome {
  return { read: () => readJournal(prefix), open: (id) => openJournalFile(prefix, id, pace) };
}

/** The journal at `prefix`; `undefined` where there is none. */
function readJournal(prefix: string): ReadJournal | undefined {
  const names = namesOf(prefix);
  if (!names.every((name) => existsSync(name))) return undefined;
  const files = names.map((name) => readFileSync(name));
  const ids = files.map((bytes) => titleOf(bytes));
  const [id, other] = ids;
  if (id === undefined || id !== other) return undefined;
  const records = files.flatMap((bytes) => Array.from(recordsIn(bytes)));
  return { id, records: records.toSorted((one, two) => one.number - two.number) };
}

/** Opens the journal at `prefix` for writing, made anew with this id where it has another or is not there. */
function openJournalFile(prefix: string, id: string, pace: Pick<Clock, "steadyMs">): JournalFile {
  const isThere = readJournal(prefix)?.id === id;
  const files = namesOf(prefix).map((name) => {
    if (!isThere) makeFile(name, id);
    return { descriptor: openSync(name, constants.O_WRONLY | constants.O_DSYNC), end: TITLE_BYTES, last: 0 };
  });
  let [current, other] = files as [(typeof files)[number], (typeof files)[number]];
  let isTorn = false;
  let lastMs = 0;
  return {
    id,
    async mend() {
      if (!isTorn) return;
      await writeAll(current.descriptor, Buffer.alloc(HEAD_BYTES), current.end);
      isTorn = false;
    },
    isTooLong: (bytes) => TITLE_BYTES + HEAD_BYTES + bytes > FILE_BYTES,
    hasRoom: (bytes) => current.end + HEAD_BYTES + bytes <= FILE_BYTES,
    isHalfFull: () => current.end > FILE_BYTES / 2,
    lastOfOther: () => other.last,
    turn() {
      [current, other] = [other, current];
      current.end = TITLE_BYTES;
      current.last = 0;
    },
    async write(number, bytes, nobodyWaits = false) {
      const record = recordOf(number, bytes);
      const { descriptor, end } = current;
      const begunMs = pace.steadyMs();
      isTorn = true;
      if (nobodyWaits && lastMs < PROMPT_MS) writeAllHere(descriptor, record, end);
      else await writeAll(descriptor, record, end);
      isTorn = false;
      lastMs = pace.steadyMs() - begunMs;
      current.end += record.length;
      current.last = number;
    },
    close() {
      for (const { descriptor } of files) closeSync(descriptor);
    },
  };
}

/** A file of another journal is set aside: it may have what no table has. */
function makeFile(name: string, id: string): void {
  if (existsSync(name)) renameSync(name, `${name}.before-${id}`);
  const bytes = Buffer.alloc(FILE_BYTES);
  bytes.write(`${TITLE}${id}`.padEnd(TITLE_BYTES - 1) + "\n", "latin1");
  const descriptor = openSync(name, "w", 0o600);
  try {
    if (writeSync(descriptor, bytes) !== FILE_BYTES) throw new Error("The disk has no room for the journal.");
    fdatasyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function titleOf(bytes: Buffer): string | undefined {
  const line = bytes.toString("latin1", 0, TITLE_BYTES);
  return bytes.length === FILE_BYTES && line.startsWith(TITLE) ? line.slice(TITLE.length).trim() : undefined;
}

function recordOf(number: number, bytes: Buffer): Buffer {
  const record = Buffer.allocUnsafe(HEAD_BYTES + bytes.length);
  record.writeUInt32LE(bytes.length, 0);
  record.writeBigUInt64LE(BigInt(number), 4);
  bytes.copy(record, HEAD_BYTES);
  record.writeUInt32LE(checksumOf(record), 12);
  return record;
}

function checksumOf(record: Buffer): number {
  return crc32(record.subarray(HEAD_BYTES), crc32(record.subarray(0, 12)));
}

/**
 * The records of a file: they end where one is not whole, or is of an earlier turn, whose numbers are lower. Numbers
 * that are missing are of batches that went to the tables themselves.
 */
function* recordsIn(file: Buffer): Iterable<JournalRecord> {
  let last: number | undefined;
  for (let at = TITLE_BYTES; at + HEAD_BYTES <= file.length;) {
    const end = at + HEAD_BYTES + file.readUInt32LE(at);
    if (end > file.length) return;
    const record = file.subarray(at, end);
    const number = Number(record.readBigUInt64LE(4));
    if (record.readUInt32LE(12) !== checksumOf(record) || number === 0) return;
    if (last !== undefined && number <= last) return;
    yield { number, text: record.toString("utf8", HEAD_BYTES) };
    last = number;
    at = end;
  }
}

function writeAllHere(descriptor: number, bytes: Buffer, position: number): void {
  if (writeSync(descriptor, bytes, 0, bytes.length, position) !== bytes.length) throw new Error(PART);
}

const PART = "The disk took only a part of the journal's record.";

function writeAll(descriptor: number, bytes: Buffer, position: number): Promise<void> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, 0, bytes.length, position, (error, written) => {
      if (error !== null) reject(error);
      else if (written === bytes.length) resolve();
      else reject(new Error(PART));
    });
  });
}
