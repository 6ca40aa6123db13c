import type { SqliteRow } from "../../runtime/sqlite.ts";
import type { Failure } from "../commands.ts";
import type { Changes } from "../decide/changes.ts";
import { type Write, MONEY_WRITES, TASK_WRITES } from "../writes.ts";

/** A statement of a record command. */
export interface RecordStatement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** What one transaction writes: plain data that a thread can be sent. */
export interface Batch {
  readonly records: readonly RecordStatement[];
  /** Changes of the books, in their order; absent where there are none. */
  readonly money?: readonly WrittenChanges[];
  /** Whether it ends requests and does nothing else: a journal may then have it first. */
  readonly isJournaled?: boolean;
  /** Whether nothing else is under way: a journal may then write it at once. */
  readonly nobodyWaits?: boolean;
  /** Whether the disk need not have it at once: a journal has it already. */
  readonly isLazy?: boolean;
  /** Its number in the journal's count, or that of its last record: the tables' mark is this once it is written. */
  readonly number?: number;
}

/** Changes of the books, decided. */
export interface WrittenChanges {
  /** The rows, as `batchOf` writes them. */
  readonly changes: string;
  /** The sealed requests of new tasks, by task. */
  readonly payloads: ReadonlyMap<string, Uint8Array>;
}

/** What became of a batch: the rows that each record's statement returned, or why nothing of it was written. */
export type Written = { readonly rows: readonly (readonly SqliteRow[])[] } | Failure;

/** Values of rows, in the order of the columns that a write takes, all of them. */
export type WrittenRow = readonly (string | number | bigint | null)[];

/** A write and the columns that it takes. */
export interface ColumnsOfWrite {
  readonly write: Write;
  readonly members: readonly string[];
}

/** All writes of a batch, in their order. */
export const WRITES: readonly ColumnsOfWrite[] = [...MONEY_WRITES, ...TASK_WRITES].map((write) => ({
  write,
  members: Object.keys(write.kind === "insert" ? write.rows.columns : write.given),
}));

/** Where amounts stand among the columns of each write. */
const AMOUNTS = WRITES.map(({ write, members }) => {
  const columns = write.kind === "insert" ? write.rows.columns : write.given;
  return members.flatMap((member, i) => (columns[member]?.kind === "bigint" ? [i] : []));
});

/** The batch of records and of changes as the tables see them. */
export function batchOf(records: readonly RecordStatement[], changes: Changes): Batch {
  const { payloads, endedTasks } = changes;
  const money = rowsOf(WRITES_OF_MONEY, changes);
  const tasks = rowsOf(WRITES_OF_TASKS, changes);
  const isOfTasks = endedTasks.size > 0 || tasks.count > 0;
  if (!isOfTasks && money.count === 0) return { records };
  return {
    records,
    // As one text: to copy a text to a thread costs far less than to copy objects. Amounts are decimal text.
    money: [{ changes: JSON.stringify([[...money.rows, ...tasks.rows], [...endedTasks]]), payloads }],
    isJournaled:
      records.length === 0 &&
      !isOfTasks &&
      changes.requests.length > 0 &&
      !hasGrant(changes) &&
      money.areStorable,
  };
}

const WRITES_OF_MONEY = WRITES.slice(0, MONEY_WRITES.length);
const WRITES_OF_TASKS = WRITES.slice(MONEY_WRITES.length);

/** Rows as they are written, by the writes that they are for. */
interface WrittenRows {
  readonly rows: readonly (readonly unknown[][])[];
  readonly count: number;
  /** Whether every number is one that a table takes: what it refuses must fail before anything is answered. */
  readonly areStorable: boolean;
}

function rowsOf(writes: readonly ColumnsOfWrite[], changes: Changes): WrittenRows {
  let count = 0;
  let areStorable = true;
  const rows = writes.map(({ write, members }) => {
    const written: unknown[][] = [];
    for (const row of write.of(changes)) {
      const values: unknown[] = [];
      for (const member of members) {
        const value = row[member];
        areStorable &&= isStorable(value);
        values.push(typeof value === "bigint" ? String(value) : value);
      }
      // A column that a later version adds at the end takes no room where it is empty.
      while (values.at(-1) === null) values.pop();
      written.push(values);
    }
    count += written.length;
    return written;
  });
  return { rows, count, areStorable };
}

const MOST = 2n ** 63n;

function isStorable(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  return typeof value !== "bigint" || (value < MOST && value >= -MOST);
}

function hasGrant({ entries }: Changes): boolean {
  return entries.some(({ kind }) => kind === "grant");
}

/** The rows of each write of `WRITES`, and the tasks that ended. A row may lack columns at its end that are empty. */
export function readChanges(text: string): {
  readonly rows: readonly (readonly WrittenRow[])[];
  readonly endedTasks: readonly string[];
} {
  const [rows, endedTasks] = JSON.parse(text) as [(string | number | bigint | null)[][][], string[]];
  rows.forEach((ofWrite, i) => {
    const length = WRITES[i]?.members.length ?? 0;
    for (const row of ofWrite) {
      while (row.length < length) row.push(null);
      for (const place of AMOUNTS[i] ?? []) {
        const amount = row[place];
        if (typeof amount === "string") row[place] = BigInt(amount);
      }
    }
  });
  return { rows, endedTasks };
}
