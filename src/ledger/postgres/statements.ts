import { jsonOfAmounts } from "../../core/json/json-value.ts";
import type { Changes } from "../decide/changes.ts";
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
  typedList,
  typeOf,
} from "../rows.ts";
import type { Allotted } from "./contested.ts";
import { endOf, type Insert, MONEY_WRITES, TASK_WRITES, type Update, type Write } from "../writes.ts";

/** A statement of the PostgreSQL client: text, name under which the server keeps it, values. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Numbers the placeholders of a statement's values in order: `$1`, `$2`, … */
type NextPlace = () => string;

function places(): NextPlace {
  let last = 0;
  return () => {
    last += 1;
    return `$${last}`;
  };
}

/**
 * Locks accounts in the order of their ids, so that two writers never deadlock. Every change to the money of a key or a
 * hold, and to what is allotted, holds its account's lock.
 */
export function lockAccounts(ids: Iterable<string>): Statement {
  return {
    name: "books-lock",
    text: "select id from accounts where id = any($1::text[]) order by id for update",
    values: [[...ids]],
  };
}

/** Advisory locks of this class stand for providers whose running tasks are counted. */
const PROVIDER_LOCKS = 7_401;

/**
 * Locks the providers that tasks of a batch come to, so that no two transactions count the same running tasks. It comes
 * before the accounts' locks, and in one order, so that two writers never deadlock. `undefined` when none comes to any.
 */
export function lockProvidersStatement({ runningAt }: References): Statement | undefined {
  if (runningAt.size === 0) return undefined;
  return {
    name: "books-lock-providers",
    text: `select pg_advisory_xact_lock(${PROVIDER_LOCKS}, number)
      from (select distinct hashtext(name) as number from unnest($1::text[]) as t(name) order by 1) as numbers`,
    values: [[...runningAt]],
  };
}

/** A part of the load statement: the query for the rows of one kind of reference. */
interface Load {
  readonly name: string;
  readonly query: (names: string) => string;
  readonly names: (references: References) => ReadonlySet<string>;
}

const rowsOf = (
  rows: Rows,
  name: string,
  names: Load["names"],
  columns: string = selectList(rows),
): Load => ({
  name,
  query: (given) => `select ${columns} from ${rows.table} where ${rows.keyColumn} = any(${given}::text[])`,
  names,
});

/** What processes may hold from in memory is held, for whoever decides over the rows. */
const withAllotted = (rows: Rows): string =>
  Object.entries(rows.columns)
    .map(([member, { name }]) => `${member === "held" ? "held + allotted" : name} as "${member}"`)
    .join(", ");

const countOf = (column: string, state: string, names: Load["names"]): Load => ({
  name: state,
  query: (given) =>
    `select name, (select count(*) from tasks where ${column} = name and state = '${state}') as tasks
     from unnest(${given}::text[]) as named(name)`,
  names,
});

const MONEY_LOADS: readonly Load[] = [
  rowsOf(ACCOUNTS, "accounts", ({ accounts }) => accounts, `${withAllotted(ACCOUNTS)}, allotted`),
  rowsOf(KEYS, "keys", ({ keys }) => keys, `${withAllotted(KEYS)}, allotted`),
  rowsOf(HOLDS, "holds", ({ holds }) => holds),
  rowsOf(ENTRIES, "entries", ({ causes }) => causes),
];

const TASK_LOADS: readonly Load[] = [
  rowsOf(TASKS, "tasks", ({ tasks }) => tasks),
  countOf("account_id", "pending", ({ pendingOf }) => pendingOf),
  countOf("provider", "running", ({ runningAt }) => runningAt),
];

function loading(name: string, loads: readonly Load[]): (references: References) => Statement {
  const place = places();
  const parts = loads.map(
    (load) => `(select coalesce(json_agg(r), '[]') from (${load.query(place())}) as r) as ${load.name}`,
  );
  const storeMs = "cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as store_ms";
  const text = `select ${[...parts, storeMs].join(",\n")}`;
  return (references) => ({ name, text, values: loads.map(({ names }) => [...names(references)]) });
}

const loadMoney = loading("books-load", MONEY_LOADS);
const loadAll = loading("books-load-tasks", [...MONEY_LOADS, ...TASK_LOADS]);

/**
 * Reads the rows that a batch refers to, once its accounts are locked. One statement for both would not do: a statement
 * sees the rows from when it began, not those made while it waited for the locks.
 */
export function loadStatement(references: References): Statement {
  return (references.tasks.size === 0 ? loadMoney : loadAll)(references);
}

type Loaded = readonly object[];
type Counts = readonly { readonly name: string; readonly tasks: number }[];

/** The answer of the load statement: one row of JSON, whose numbers are all below 2^53. */
export interface LoadedRow {
  readonly accounts: Loaded;
  readonly keys: Loaded;
  readonly holds: Loaded;
  readonly entries: Loaded;
  readonly tasks?: Loaded;
  readonly pending?: Counts;
  readonly running?: Counts;
  readonly store_ms: bigint;
}

/** What processes have set aside of the accounts and keys. */
export function allottedOf({ accounts, keys }: LoadedRow): Allotted {
  return { accounts: amountsOf(accounts), keys: amountsOf(keys) };
}

function amountsOf(found: Loaded): ReadonlyMap<string, bigint> {
  const rows = found as readonly { readonly id: string; readonly allotted: number }[];
  return new Map(rows.map(({ id, allotted }) => [id, BigInt(allotted)]));
}

const accountsOf = byKey(ACCOUNTS);
const keysOf = byKey(KEYS);
const holdsOf = byKey(HOLDS);
const entriesOf = byKey(ENTRIES);
const tasksOf = byKey(TASKS);

/** The state of the books as it was read. */
export function stateOf(row: LoadedRow): BooksState {
  return {
    accounts: accountsOf(row.accounts),
    keys: keysOf(row.keys),
    holds: holdsOf(row.holds),
    entries: entriesOf(row.entries),
    tasks: tasksOf(row.tasks),
    pending: countsOf(row.pending),
    running: countsOf(row.running),
    storeMs: Number(row.store_ms),
  };
}

function byKey<Described extends Rows>(rows: Described): (found?: Loaded) => Map<string, RowOf<Described>> {
  const read = reader(rows, "bigint", (value) => BigInt(value as number));
  return (found = []) =>
    new Map(found.map((row) => [String((row as Record<string, unknown>)[rows.key]), read(row)]));
}

function countsOf(counts: Counts = []): Map<string, number> {
  return new Map(counts.map(({ name, tasks }) => [name, tasks]));
}

/** A part of the save statement. */
interface Save {
  readonly text: (place: NextPlace) => string;
  readonly values: (changes: Changes) => readonly unknown[];
  /** Whether the rows that it changes are counted. */
  readonly isCounted?: true;
}

const saveOf = (write: Write): Save => (write.kind === "insert" ? inserting(write) : updating(write));

/** Rows to add come as JSON. */
function inserting(write: Insert): Save {
  const { rows, of } = write;
  return {
    text: (place) => `insert into ${rows.table} (${columnList(rows)})
      select * from json_to_recordset(${place()}::json) as t(${typedList(rows)}) ${endOf(write)}`,
    values: (changes) => [jsonOfAmounts([...of(changes)])],
  };
}

/**
 * Rows to change come as arrays. The planner expects arrays to be short and looks each row up; it expects JSON to be
 * long and scans the table.
 */
function updating({ rows, given, set, where, of }: Update): Save {
  const members = Object.keys(given);
  const value = (member: string): string => `t."${member}"`;
  return {
    text: (place) => {
      const arrays = Object.values(given).map((column) => `${place()}::${typeOf(column)}[]`);
      return `update ${rows.table} set ${set(value)}
        from unnest(${arrays.join(", ")}) as t("${members.join('", "')}") where ${where(value)} returning 1`;
    },
    values: (changes) => {
      const changed = [...of(changes)];
      return members.map((member) => changed.map((row) => row[member]));
    },
    isCounted: true,
  };
}

const MONEY_SAVES = MONEY_WRITES.map(saveOf);

const TASK_SAVES: readonly Save[] = [
  ...TASK_WRITES.map(saveOf),
  {
    text: (place) => `delete from task_payloads where task_id = any(${place()}::text[])`,
    values: ({ endedTasks }) => [[...endedTasks]],
  },
];

function saving(name: string, saves: readonly Save[]): (changes: Changes) => Statement {
  const place = places();
  const parts = saves.map(({ text }, i) => `s${i} as (${text(place)})`);
  const counts = saves.flatMap(({ isCounted }, i) => (isCounted ? [`(select count(*) from s${i})`] : []));
  const text = `with ${parts.join(",\n")}
    select 1 / (case when ${counts.join(" + ")} = ${place()}::bigint then 1 else 0 end) as written`;
  return (changes) => {
    const { accounts, keys, endedHolds, changedTasks } = changes;
    const changed = accounts.size + keys.size + endedHolds.size + changedTasks.size;
    return { name, text, values: [...saves.flatMap(({ values }) => values(changes)), changed] };
  };
}

const saveMoney = saving("books-save", MONEY_SAVES);
const saveAll = saving("books-save-tasks", [...MONEY_SAVES, ...TASK_SAVES]);

/**
 * Writes the changes in one statement. It fails, and with it the transaction, unless every account covers its change
 * and every row to change is as it was read.
 */
export function saveStatement(changes: Changes): Statement {
  return (changes.newTasks.size + changes.changedTasks.size === 0 ? saveMoney : saveAll)(changes);
}

/** Each payload goes in a statement of its own and as it is: they can be long, and a batch may have many. */
export function payloadStatements({ payloads }: Changes): Statement[] {
  return [...payloads].map((values) => ({
    name: "books-payload",
    text: "insert into task_payloads (task_id, sealed) values ($1, $2)",
    values,
  }));
}
