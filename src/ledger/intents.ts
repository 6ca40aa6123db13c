import { closeSync, existsSync, ftruncateSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { type Failpoint, noFailpoint } from "../core/failpoint.ts";
import { HOLDS, type HoldRow, PRICE_VERSIONS, type PriceVersionRow, type Rows } from "./rows.ts";

/** A hold that was made, with the prices that it goes by. */
export interface Intent {
  readonly hold: HoldRow;
  readonly prices: PriceVersionRow;
}

/** Notes of holds that stand in memory: what the next start knows of them when this process dies. */
export interface Intents {
  /**
   * Hands the note to the system before it returns: it outlives this process, though not the machine's power. Throws
   * where the disk does not take it; the hold then was never made.
   */
  note(intent: Intent): void;
  close(): void;
}

/** The file begins anew with the holds that are open once it is this large, or twice what they alone came to. */
const LEAST_BYTES = 1024 * 1024;

/**
 * The notes that an earlier run left in `file`, where they belong to the journal of that id. Others are of another copy
 * of the books. A line that was cut off tells of a hold that was never made.
 */
export function readIntents(file: string, journal: string): readonly Intent[] {
  if (!existsSync(file)) return [];
  const prices = new Map<string, PriceVersionRow>();
  const intents: Intent[] = [];
  const [title, ...lines] = readFileSync(file, "utf8").split("\n");
  if (`${title}\n` !== titleOf(journal)) return [];
  for (const line of lines) {
    const note = readLine(line);
    if (note === undefined) continue;
    if ("rules" in note) prices.set(note.version, note);
    else {
      const known = prices.get(note.priceVersion);
      if (known !== undefined) intents.push({ hold: note, prices: known });
    }
  }
  return intents;
}

/** Notes in `file`, which begins with those of `open`: nothing else of an earlier run stays in it. */
export function openIntents(
  file: string,
  journal: string,
  open: () => Iterable<Intent>,
  failpoint: Failpoint = noFailpoint,
): Intents {
  let descriptor: number | undefined;
  /** Versions of prices that the file has. */
  let known = new Set<string>();
  let size = 0;
  let most = LEAST_BYTES;

  const textOf = ({ hold, prices }: Intent): string => {
    const note = noteOf(HOLD_MEMBERS, hold);
    return known.has(prices.version) ? note : noteOf(PRICE_MEMBERS, prices) + note;
  };

  const beginAnew = (): void => {
    known = new Set();
    let text = titleOf(journal);
    for (const intent of open()) {
      text += textOf(intent);
      known.add(intent.prices.version);
    }
    const next = `${file}.next`;
    const written = openSync(next, "w", 0o600);
    try {
      append(written, text, 0);
      renameSync(next, file);
    } catch (error) {
      closeSync(written);
      throw error;
    }
    if (descriptor !== undefined) closeSync(descriptor);
    descriptor = written;
    size = Buffer.byteLength(text);
    most = Math.max(LEAST_BYTES, 2 * size);
    failpoint("notes.begun_anew");
  };

  beginAnew();
  return {
    note(intent) {
      if (size > most) beginAnew();
      const text = textOf(intent);
      failpoint("note.before_write");
      size += append(descriptor as number, text, size);
      failpoint("note.after_write");
      known.add(intent.prices.version);
    },
    close() {
      if (descriptor !== undefined) closeSync(descriptor);
      descriptor = undefined;
    },
  };
}

/** Writes all of `text` at `end`, or takes back what came of it and throws. Returns its bytes. */
function append(descriptor: number, text: string, end: number): number {
  const bytes = Buffer.byteLength(text);
  try {
    if (writeSync(descriptor, text, end) === bytes) return bytes;
    throw new Error("The disk has no room for the note of a hold.");
  } catch (error) {
    ftruncateSync(descriptor, end);
    throw error;
  }
}

const titleOf = (journal: string): string => `switchyard notes 1 ${journal}\n`;

const HOLD_MEMBERS = Object.keys(HOLDS.columns);
const PRICE_MEMBERS = Object.keys(PRICE_VERSIONS.columns);

/** One line: the values of a row in the order of its columns, amounts as decimal text. */
function noteOf(members: readonly string[], row: Readonly<Record<string, unknown>>): string {
  const values = members.map((member) => {
    const value = row[member];
    return typeof value === "bigint" ? String(value) : value;
  });
  return `${JSON.stringify(values)}\n`;
}

function readLine(line: string): HoldRow | PriceVersionRow | undefined {
  let values: unknown;
  try {
    values = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!Array.isArray(values)) return undefined;
  return (rowOf(HOLDS, values) ?? rowOf(PRICE_VERSIONS, values)) as HoldRow | PriceVersionRow | undefined;
}

function rowOf({ columns }: Rows, values: readonly unknown[]): object | undefined {
  const members = Object.entries(columns);
  if (members.length !== values.length) return undefined;
  return Object.fromEntries(
    members.map(([member, { kind }], i) => {
      const value = values[i];
      return [member, kind === "bigint" && typeof value === "string" ? BigInt(value) : value];
    }),
  );
}
