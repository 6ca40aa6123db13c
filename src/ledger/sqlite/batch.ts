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

/** Values of rows, in the order of the columns that a write takes. */
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
  const isOfTasks = endedTasks.size > 0 || !isEmpty(TASK_WRITES, changes);
  if (!isOfTasks && isEmpty(MONEY_WRITES, changes)) return { records };
  return {
    records,
    money: [{ changes: changesText(changes), payloads }],
    isJournaled:
      records.length === 0 &&
      !isOfTasks &&
      changes.requests.length > 0 &&
      !hasGrant(changes) &&
      MONEY_WRITES.every((write) => isStorable(write, changes)),
  };
}

const MOST = 2n ** 63n;

/** Whether every number is one that a table takes: what it refuses must fail before anything is answered. */
function isStorable(write: Write, changes: Changes): boolean {
  for (const row of write.of(changes))
    for (const value of Object.values(row)) {
      if (typeof value === "number" && !Number.isSafeInteger(value)) return false;
      if (typeof value === "bigint" && (value >= MOST || value < -MOST)) return false;
    }
  return true;
}

function hasGrant({ entries }: Changes): boolean {
  return entries.some(({ kind }) => kind === "grant");
}

function isEmpty(writes: readonly Write[], changes: Changes): boolean {
  return writes.every((write) => write.of(changes)[Symbol.iterator]().next().done === true);
}

/** Changes as one text: to copy a text to a thread costs far less than to copy objects. Amounts are decimal text. */
function changesText(changes: Changes): string {
  const rows = WRITES.map(({ write, members }) => {
    const written: unknown[][] = [];
    for (const row of write.of(changes))
      written.push(
        members.map((member) => {
          const value = row[member];
          return typeof value === "bigint" ? String(value) : value;
        }),
      );
    return written;
  });
  return JSON.stringify([rows, [...changes.endedTasks]]);
}

/** The rows of each write of `WRITES`, and the tasks that ended. */
export function readChanges(text: string): {
  readonly rows: readonly (readonly WrittenRow[])[];
  readonly endedTasks: readonly string[];
} {
  const [rows, endedTasks] = JSON.parse(text) as [(string | number | bigint | null)[][][], string[]];
  rows.forEach((ofWrite, i) => {
    for (const row of ofWrite)
      for (const place of AMOUNTS[i] ?? []) {
        const amount = row[place];
        if (typeof amount === "string") row[place] = BigInt(amount);
      }
  });
  return { rows, endedTasks };
}
