import type { Selectable } from "kysely";
import type { Tables } from "../db/schema.ts";

/**
 * How the ledger reads a column. Both stores keep whole numbers in 64 bits: amounts stay `bigint`; times and counts
 * become numbers.
 */
type Kind = "text" | "bigint" | "number";

/** A column of a table. */
export interface Column<Name extends string = string, K extends Kind = Kind> {
  readonly name: Name;
  readonly kind: K;
}

type Stored<Table extends keyof Tables> = Selectable<Tables[Table]>;

/** A column that the schema has, with a kind that fits it. */
type ColumnOf<Table extends keyof Tables> = {
  [Name in keyof Stored<Table> & string]: Column<
    Name,
    NonNullable<Stored<Table>[Name]> extends string ? "text" : "bigint" | "number"
  >;
}[keyof Stored<Table> & string];

type Columns = Readonly<Record<string, Column>>;

/** Rows of a table as the ledger reads and writes them: members by name, each with its column. */
export interface Rows<Of extends Columns = Columns, Table extends keyof Tables = keyof Tables> {
  readonly table: Table;
  /** The member that names a row, and its column. */
  readonly key: string;
  readonly keyColumn: string;
  readonly columns: Of;
}

/** Describes a row. The schema says which values may be null. */
export type RowOf<Described> =
  Described extends Rows<infer Of, infer Table>
    ? { readonly [Member in keyof Of]: Value<Of[Member], Stored<Table>> }
    : never;

type Value<Of extends Column, Row> = Of["name"] extends keyof Row
  ? Of["kind"] extends "number"
    ? number | Extract<Row[Of["name"]], null>
    : Row[Of["name"]]
  : never;

function describe<Table extends keyof Tables, Of extends Readonly<Record<string, ColumnOf<Table>>>>(
  table: Table,
  key: keyof Of & string,
  columns: Of,
): Rows<Of, Table> {
  return { table, key, keyColumn: (columns[key] as Column).name, columns };
}

const columnOf =
  <K extends Kind>(kind: K) =>
  <Name extends string>(name: Name): Column<Name, K> => ({ name, kind });

const text = columnOf("text");
const bigint = columnOf("bigint");
const number = columnOf("number");

export const ACCOUNTS = describe("accounts", "id", {
  id: text("id"),
  status: text("status"),
  balance: bigint("balance"),
  held: bigint("held"),
});

export const KEYS = describe("keys", "id", {
  id: text("id"),
  account: text("account_id"),
  revokedAtMs: number("revoked_at_ms"),
  expiresAtMs: number("expires_at_ms"),
  budget: bigint("budget"),
  spent: bigint("spent"),
  held: bigint("held"),
});

/** A key as it is issued. */
export const ISSUED_KEYS = describe("keys", "id", {
  id: text("id"),
  account: text("account_id"),
  name: text("name"),
  hash: text("hash"),
  hint: text("hint"),
  models: text("models"),
  budget: bigint("budget"),
  requestsPerMinute: number("requests_per_minute"),
  tokensPerMinute: number("tokens_per_minute"),
  concurrency: number("concurrency"),
  routes: number("routes"),
  expiresAtMs: number("expires_at_ms"),
  createdAtMs: number("created_at_ms"),
});

export const PRICE_VERSIONS = describe("price_versions", "version", {
  version: text("version"),
  model: text("model"),
  rules: text("rules"),
  createdAtMs: number("created_at_ms"),
});

export const HOLDS = describe("holds", "id", {
  id: text("id"),
  account: text("account_id"),
  key: text("key_id"),
  requestId: text("request_id"),
  boot: text("boot_id"),
  model: text("model"),
  amount: bigint("amount"),
  /** The operator's loss where the hold is abandoned. The end of a task makes it less where only a part is in doubt. */
  expectedCost: bigint("expected_cost"),
  priceVersion: text("price_version"),
  createdAtMs: number("created_at_ms"),
  expiresAtMs: number("expires_at_ms"),
  /** The task that it pays for: only the task's end ends the hold. */
  task: text("task_id"),
  state: text("state"),
  settled: bigint("settled"),
  endReason: text("end_reason"),
  endedAtMs: number("ended_at_ms"),
});

export const ENTRIES = describe("ledger", "cause", {
  cause: text("cause"),
  account: text("account_id"),
  key: text("key_id"),
  counter: text("counter"),
  amount: bigint("amount"),
  balanceAfter: bigint("balance_after"),
  kind: text("kind"),
  requestId: text("request_id"),
  reason: text("reason"),
  createdAtMs: number("created_at_ms"),
});

export const REQUESTS = describe("requests", "id", {
  id: text("id"),
  account: text("account_id"),
  key: text("key_id"),
  hold: text("hold_id"),
  model: text("model"),
  provider: text("provider"),
  outcome: text("outcome"),
  charge: bigint("charge"),
  priceVersion: text("price_version"),
  usage: text("usage"),
  flags: text("flags"),
  attempts: text("attempts"),
  admittedAtMs: number("admitted_at_ms"),
  heldAtMs: number("held_at_ms"),
  firstByteAtMs: number("first_byte_at_ms"),
  endedAtMs: number("ended_at_ms"),
  settledAtMs: number("settled_at_ms"),
  /** After all others: rows in a journal of the version before end without it. */
  cost: bigint("cost"),
});

export const TASKS = describe("tasks", "id", {
  id: text("id"),
  kind: text("kind"),
  account: text("account_id"),
  key: text("key_id"),
  hold: text("hold_id"),
  requestId: text("request_id"),
  model: text("model"),
  state: text("state"),
  epoch: number("epoch"),
  owner: text("owner"),
  /** By the store's clock; 0 once its owner has released it. */
  leaseUntilMs: number("lease_until_ms"),
  provider: text("provider"),
  job: text("job"),
  attempts: number("attempts"),
  /** Attempts that the provider surely did not take. */
  refusals: number("refusals"),
  terms: text("terms"),
  warnings: text("warnings"),
  timeoutSec: number("timeout_sec"),
  deadlineMs: number("deadline_ms"),
  result: text("result"),
  errorType: text("error_type"),
  errorMessage: text("error_message"),
  charge: bigint("charge"),
  filesUntilMs: number("files_until_ms"),
  createdAtMs: number("created_at_ms"),
  readyAtMs: number("ready_at_ms"),
  /** The process whose request waits for its end. */
  awaitedBy: text("awaited_by"),
  startedAtMs: number("started_at_ms"),
  endedAtMs: number("ended_at_ms"),
});

export const AUDIT_MARKS = describe("audit_marks", "subject", {
  subject: text("subject_id"),
  ledgerSeq: bigint("ledger_seq"),
  /** The account's balance, or what the key had spent. */
  amount: bigint("amount"),
  requestSeq: bigint("request_seq"),
  checkedAtMs: number("checked_at_ms"),
});

/** Usage of five minutes, an hour, a day or thirty days. */
export const USAGE_ROLLUPS = describe("usage_rollups", "timeMs", {
  grainMs: number("grain_ms"),
  view: text("view_name"),
  timeMs: number("time_ms"),
  model: text("model"),
  provider: text("provider"),
  account: text("account_id"),
  key: text("key_id"),
  outcome: text("outcome"),
  requests: number("requests"),
  failed: number("failed"),
  inputTokens: number("input_tokens"),
  outputTokens: number("output_tokens"),
  cacheReadTokens: number("cache_read_tokens"),
  images: number("images"),
  seconds: number("seconds"),
  credit: bigint("credit"),
  cost: bigint("cost"),
  creditWithCost: bigint("credit_with_cost"),
  latency: text("latency"),
  firstByte: text("first_byte"),
  firstSeq: bigint("first_seq"),
  lastSeq: bigint("last_seq"),
});

/** Between which numbers the ledger's entries of an hour are. */
export const LEDGER_HOURS = describe("ledger_hours", "timeMs", {
  timeMs: number("time_ms"),
  firstSeq: bigint("first_seq"),
  lastSeq: bigint("last_seq"),
});

export const REFUSALS = describe("refusals", "id", {
  id: text("id"),
  atMs: number("at_ms"),
  status: number("status"),
  code: text("code"),
  field: text("field"),
  model: text("model"),
  key: text("key_id"),
  account: text("account_id"),
  path: text("path"),
});

export const REFUSAL_COUNTS = describe("refusal_counts", "timeMs", {
  timeMs: number("time_ms"),
  status: number("status"),
  code: text("code"),
  model: text("model"),
  key: text("key_id"),
  refusals: number("refusals"),
});

export type AccountRow = RowOf<typeof ACCOUNTS>;
export type KeyRow = RowOf<typeof KEYS>;
export type PriceVersionRow = RowOf<typeof PRICE_VERSIONS>;
export type HoldRow = RowOf<typeof HOLDS>;
export type EntryRow = RowOf<typeof ENTRIES>;
export type RequestRow = RowOf<typeof REQUESTS>;
export type TaskRow = RowOf<typeof TASKS>;
export type UsageRollup = RowOf<typeof USAGE_ROLLUPS>;
export type LedgerHour = RowOf<typeof LEDGER_HOURS>;
export type RefusalRow = RowOf<typeof REFUSALS>;
export type RefusalCount = RowOf<typeof REFUSAL_COUNTS>;
/** The mark of an account or a key whose entries and requests up to here were found right. */
export type AuditMark = RowOf<typeof AUDIT_MARKS>;

/** The columns of `rows`, as the text of a list. */
export function columnList({ columns }: Rows): string {
  return listOf(columns, (_, { name }) => name);
}

/** The columns of `rows`, each named as its member. */
export function selectList({ columns }: Rows): string {
  return listOf(columns, (member, { name }) => `${name} as "${member}"`);
}

/** The members of `rows`, each with PostgreSQL's type. */
export function typedList({ columns }: Rows): string {
  return listOf(columns, (member, column) => `"${member}" ${typeOf(column)}`);
}

/** The members of `rows` out of SQLite's `value`, which is a row as JSON. */
export function jsonList({ columns }: Rows): string {
  return listOf(columns, jsonMember);
}

function jsonMember(member: string, { kind }: Column): string {
  return kind === "text" ? `value ->> '${member}'` : `cast(value ->> '${member}' as integer)`;
}

/** The members of `rows` out of SQLite's `value`, each by its name. */
export function namedJsonList({ columns }: Rows): string {
  return listOf(columns, (member, column) => `${jsonMember(member, column)} as "${member}"`);
}

/** PostgreSQL's type of a column. */
export function typeOf({ kind }: Column): string {
  return kind === "text" ? "text" : "bigint";
}

function listOf(columns: Columns, item: (member: string, column: Column) => string): string {
  return Object.entries(columns)
    .map(([member, column]) => item(member, column))
    .join(", ");
}

/** Makes a row of what a store gave for it, in place: columns of one kind are converted. */
export function reader<Described extends Rows>(
  { columns }: Described,
  kind: Kind,
  convert: (value: unknown) => unknown,
): (given: object) => RowOf<Described> {
  const members = Object.keys(columns).filter((member) => columns[member]?.kind === kind);
  return (given) => {
    const row = given as Record<string, unknown>;
    for (const member of members) if (row[member] !== null) row[member] = convert(row[member]);
    return row as RowOf<Described>;
  };
}
