import type { SqliteDatabase, SqliteRow, SqliteStatement } from "../../runtime/sqlite.ts";
import type { BooksState, References } from "../decide/state.ts";
import {
  ACCOUNTS,
  columnList,
  ENTRIES,
  HOLDS,
  KEYS,
  reader,
  type RowOf,
  type Rows,
  selectList,
  TASKS,
} from "../rows.ts";
import { endOf, type Insert, type Update, type Write } from "../writes.ts";
import { readChanges, WRITES, type WrittenChanges, type WrittenRow } from "./batch.ts";

/** Rows of the books in a SQLite database, within the open transaction. */
export interface SqliteRows {
  /** The rows that a batch refers to. */
  load(references: References): BooksState;
  /** Writes the changes of batches, in their order. Throws when a row is not as it was when they were decided. */
  save(changes: readonly WrittenChanges[]): void;
}

/** The rows of `database`, which must have the current schema. */
export function openSqliteRows(database: SqliteDatabase): SqliteRows {
  return { load: openLoading(database), save: openSaving(database) };
}

/** The store is embedded: it has no time of its own. */
function openLoading(database: SqliteDatabase): SqliteRows["load"] {
  const rowsOf = <Described extends Rows>(rows: Described) => {
    const { table, keyColumn } = rows;
    const statement = database.prepare(`select ${selectList(rows)} from ${table} where ${keyColumn} = ?`);
    return readAll<RowOf<Described>>(statement, reader(rows, "number", Number));
  };
  const countOf = (column: string, state: string) =>
    readAll(
      database.prepare(`select count(*) as tasks from tasks where ${column} = ? and state = '${state}'`),
      (row) => Number(row.tasks),
    );
  const accounts = rowsOf(ACCOUNTS);
  const keys = rowsOf(KEYS);
  const holds = rowsOf(HOLDS);
  const entries = rowsOf(ENTRIES);
  const tasks = rowsOf(TASKS);
  const pending = countOf("account_id", "pending");
  const running = countOf("provider", "running");
  return (references) => ({
    accounts: accounts(references.accounts),
    keys: keys(references.keys),
    holds: holds(references.holds),
    entries: entries(references.causes),
    tasks: tasks(references.tasks),
    pending: pending(references.pendingOf),
    running: running(references.runningAt),
    storeMs: null,
  });
}

function readAll<Read>(
  statement: SqliteStatement,
  read: (row: SqliteRow) => Read,
): (ids: ReadonlySet<string>) => Map<string, Read> {
  return (ids) => {
    const found = new Map<string, Read>();
    for (const id of ids) {
      const row = statement.get(id);
      if (row !== undefined) found.set(id, read(row));
    }
    return found;
  };
}

function openSaving(database: SqliteDatabase): SqliteRows["save"] {
  const statements = WRITES.map(({ write, members }) =>
    database.prepare(write.kind === "insert" ? insertText(write) : updateText(write, members)),
  );
  const insertPayload = database.prepare(
    "insert into task_payloads (task_id, sealed) values (?, cast(? as text))",
  );
  const deletePayload = database.prepare("delete from task_payloads where task_id = ?");
  return (all) => {
    const read = all.map(({ changes }) => readChanges(changes));
    for (const [i, { write, members }] of WRITES.entries()) {
      const each = read.length === 1 ? (read[0]?.rows[i] ?? []) : read.flatMap(({ rows }) => rows[i] ?? []);
      const key = members.indexOf(write.rows.key);
      const rows = togetherAs(write, each, key);
      for (const row of rows) {
        const written = statements[i]?.run(...row);
        if (write.kind === "update" && written !== 1)
          throw new Error(`The row ${String(row[key])} was not as it had been read.`);
      }
    }
    for (const { payloads } of all) for (const [task, payload] of payloads) insertPayload.run(task, payload);
    for (const { endedTasks } of read) for (const task of endedTasks) deletePayload.run(task);
  };
}

/** The rows to write: of some kinds those with the same key are written as one. */
function togetherAs(write: Write, rows: readonly WrittenRow[], key: number): readonly WrittenRow[] {
  if (rows.length < 2) return rows;
  if (write.kind === "update") return write.isSum ? addedUp(rows, key) : rows;
  return write.isOnce ? firstOfEach(rows, key) : rows;
}

/** The first row of each key: prices that many requests go by are written once. */
function firstOfEach(rows: readonly WrittenRow[], key: number): readonly WrittenRow[] {
  const first = new Map<unknown, WrittenRow>();
  for (const row of rows) if (!first.has(row[key])) first.set(row[key], row);
  return [...first.values()];
}

/** One row for each key, with the sums of its amounts: an account that many requests charged is written once. */
function addedUp(rows: readonly WrittenRow[], key: number): readonly WrittenRow[] {
  const sums = new Map<unknown, (bigint | string)[]>();
  for (const row of rows) {
    const values = row as readonly (bigint | string)[];
    const sum = sums.get(row[key]);
    if (sum === undefined) sums.set(row[key], [...values]);
    else
      for (const [i, value] of values.entries())
        if (i !== key) sum[i] = (sum[i] as bigint) + (value as bigint);
  }
  return [...sums.values()];
}

function insertText(write: Insert): string {
  const { rows } = write;
  const places = Object.keys(rows.columns).map(() => "?");
  return `insert into ${rows.table} (${columnList(rows)}) values (${places.join(", ")}) ${endOf(write)}`;
}

function updateText({ rows, set, where }: Update, members: readonly string[]): string {
  const value = (member: string): string => `?${members.indexOf(member) + 1}`;
  return `update ${rows.table} set ${set(value)} where ${where(value)}`;
}
