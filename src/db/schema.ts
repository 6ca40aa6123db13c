import type { Generated, Kysely } from "kysely";
import type { TaskErrorType, TaskKind, TaskState } from "../core/task.ts";

/** Reads, typed. Changes go to the one writer. */
export type Database = Kysely<Tables>;

/** Tables as both stores hold them. Integers read as `bigint`; times are milliseconds, money is micro-credits. */
export interface Tables {
  accounts: AccountsTable;
  keys: KeysTable;
  price_versions: PriceVersionsTable;
  holds: HoldsTable;
  ledger: LedgerTable;
  requests: RequestsTable;
  tasks: TasksTable;
  task_payloads: TaskPayloadsTable;
  processes: ProcessesTable;
  allotments: AllotmentsTable;
  installation: InstallationTable;
  sessions: SessionsTable;
  audit_marks: AuditMarksTable;
  journal_gaps: JournalGapsTable;
  store_health: StoreHealthTable;
  usage_rollups: UsageRollupsTable;
  usage_mark: UsageMarkTable;
  usage_recent_mark: UsageRecentMarkTable;
  ledger_hours: LedgerHoursTable;
  ledger_mark: LedgerMarkTable;
  refusals: RefusalsTable;
  refusal_counts: RefusalCountsTable;
}

/** Accounts of customers. `balance` and `held` change only together with the rows that explain them. */
export interface AccountsTable {
  seq: Generated<bigint>;
  id: string;
  name: string;
  status: Generated<"active" | "disabled">;
  balance: Generated<bigint>;
  held: Generated<bigint>;
  /** Credit that processes may hold from in memory. */
  allotted: Generated<bigint>;
  /** When a process last needed what others had of it, by the store's clock. */
  recalled_at_ms: Generated<bigint>;
  created_at_ms: bigint;
}

/** API keys. Only a keyed hash of a key is stored. */
export interface KeysTable {
  seq: Generated<bigint>;
  id: string;
  account_id: string;
  name: string;
  hash: string;
  hint: string;
  /** JSON array of model ids, or null for all. */
  models: string | null;
  expires_at_ms: bigint | null;
  revoked_at_ms: bigint | null;
  created_at_ms: bigint;
  /** The most that the key may ever spend; null for no budget of its own. */
  budget: bigint | null;
  /** Charges of the key so far. */
  spent: Generated<bigint>;
  /** Amounts of its open holds. */
  held: Generated<bigint>;
  /** What processes may hold by it in memory. */
  allotted: Generated<bigint>;
  /** Limits of the key per minute and at once; null for none. */
  requests_per_minute: bigint | null;
  tokens_per_minute: bigint | null;
  concurrency: bigint | null;
  /** 1 where its requests may ask for a route. */
  routes: Generated<bigint>;
}

/** Every list of prices by which a hold was made. */
export interface PriceVersionsTable {
  version: string;
  model: string;
  rules: string;
  created_at_ms: bigint;
}

/** Credit set aside for requests, and how each hold ended. */
export interface HoldsTable {
  id: string;
  account_id: string;
  key_id: string;
  request_id: string;
  boot_id: string;
  model: string;
  amount: bigint;
  /** The expected loss of the operator when the process that made the hold dies. */
  expected_cost: bigint;
  state: "held" | "settled" | "voided";
  price_version: string;
  created_at_ms: bigint;
  expires_at_ms: bigint;
  ended_at_ms: bigint | null;
  end_reason: string | null;
  settled: bigint | null;
  /** The task that it pays for: the hold then ends with the task, and not with a process. */
  task_id: string | null;
}

/**
 * Movements of credit, never changed and never deleted. `counter` is the other account, so that every row is a double
 * entry. Losses stand under the account `operator`, which has no balance.
 */
export interface LedgerTable {
  seq: Generated<bigint>;
  cause: string;
  account_id: string;
  key_id: string | null;
  counter: "funding" | "revenue" | "operator_loss";
  amount: bigint;
  balance_after: bigint;
  kind: "grant" | "settle" | "loss";
  request_id: string | null;
  reason: string | null;
  created_at_ms: bigint;
}

/**
 * One row for each request that had a hold, written in the transaction that ends the hold. Its model and prices are
 * those of the model that served, which may be another than the hold was made for.
 */
export interface RequestsTable {
  seq: Generated<bigint>;
  id: string;
  account_id: string;
  key_id: string;
  hold_id: string;
  model: string;
  provider: string | null;
  outcome: string;
  charge: bigint;
  price_version: string;
  /** JSON: counts by bucket. */
  usage: string | null;
  /** JSON array of usage flags. */
  flags: string | null;
  /** JSON array: calls to providers, in order. */
  attempts: string;
  admitted_at_ms: bigint;
  held_at_ms: bigint;
  first_byte_at_ms: bigint | null;
  ended_at_ms: bigint;
  settled_at_ms: bigint;
  /** What the operator owes providers; null where that is not known. */
  cost: bigint | null;
}

/** Work that outlives its request. Its state and its hold change in the same transaction. */
export interface TasksTable {
  seq: Generated<bigint>;
  id: string;
  kind: TaskKind;
  account_id: string;
  key_id: string;
  hold_id: string;
  request_id: string;
  model: string;
  state: TaskState;
  /** Rises with every claim: the store refuses writes of an earlier owner by it. */
  epoch: Generated<bigint>;
  /** The process that runs it, and its lease by the store's clock. */
  owner: string | null;
  lease_until_ms: bigint | null;
  provider: string | null;
  /** The provider's name for the job. */
  job: string | null;
  /** How often a run was about to send it to the provider. */
  attempts: Generated<bigint>;
  refusals: Generated<bigint>;
  /** JSON of what its price depends on beside counts, and of the order of its routes: see `TaskTerms`. */
  terms: string;
  /** JSON array of sentences. */
  warnings: string;
  timeout_sec: bigint;
  deadline_ms: bigint;
  /** JSON of a `TaskResult`. */
  result: string | null;
  error_type: TaskErrorType | null;
  error_message: string | null;
  charge: bigint | null;
  /** Until when its files are kept; null when none are. */
  files_until_ms: bigint | null;
  created_at_ms: bigint;
  /** No process claims it before then. */
  ready_at_ms: bigint;
  /** The process whose request waits for its end; null when its client polls it. */
  awaited_by: string | null;
  started_at_ms: bigint | null;
  ended_at_ms: bigint | null;
}

/** The requests of tasks that have not ended, sealed. */
export interface TaskPayloadsTable {
  task_id: string;
  sealed: string;
}

/** Processes that share the store, each alive while its lease lasts by the store's clock. */
export interface ProcessesTable {
  boot_id: string;
  lease_until_ms: bigint;
  /** 1 where the process knows of allotments. */
  allots: Generated<bigint>;
}

/** Credit of an account that a process may hold from in memory, for one key. */
export interface AllotmentsTable {
  id: string;
  boot_id: string;
  account_id: string;
  key_id: string;
  amount: bigint;
  /** What the process held of it when it last wrote the row. */
  held: bigint;
}

/** Sessions of the console, by a keyed hash of their cookie. Just one of `token_hash` and `key_id` is set. */
export interface SessionsTable {
  id: string;
  /** The keyed hash of the admin token that an operator signed in with. */
  token_hash: string | null;
  /** The key that a developer signed in with. */
  key_id: string | null;
  created_at_ms: bigint;
  /** When it was last used, to the minute. */
  seen_at_ms: bigint;
}

/** Facts of an installation, by name. */
export interface InstallationTable {
  name: string;
  value: string;
}

/** How far the audit has found each account and each key right, with its balance or what it had spent. */
export interface AuditMarksTable {
  subject_id: string;
  ledger_seq: bigint;
  amount: bigint;
  request_seq: bigint;
  checked_at_ms: bigint;
}

/** What a journal had and the tables never got. */
export interface JournalGapsTable {
  seq: Generated<bigint>;
  kind: "incomplete" | "refused";
  reason: string;
  /** The record's number and its text; null where they are not known. */
  number: bigint | null;
  record: string | null;
  found_at_ms: bigint;
}

/** Written to find out whether the store takes writes. */
export interface StoreHealthTable {
  pings: bigint;
}

/** What the requests of an hour or a day come to. Names that a row of this view does not tell apart are empty. */
export interface UsageRollupsTable {
  /** Milliseconds of five minutes, an hour, a day or thirty days. */
  grain_ms: bigint;
  view_name: string;
  /** When they begin. */
  time_ms: bigint;
  model: string;
  /** Empty also where there was none. */
  provider: string;
  account_id: string;
  key_id: string;
  outcome: string;
  requests: bigint;
  failed: bigint;
  input_tokens: bigint;
  output_tokens: bigint;
  cache_read_tokens: bigint;
  images: bigint;
  seconds: bigint;
  credit: bigint;
  /** Of the requests whose cost is known, */
  cost: bigint;
  /** and what these were charged. */
  credit_with_cost: bigint;
  /** JSON: counts by bucket of a histogram. */
  latency: string;
  first_byte: string;
  /** The requests in it have numbers from here to there, among others. */
  first_seq: bigint;
  last_seq: bigint;
}

/** Requests up to this number are in the rollups of hours and days, and no others: one row. */
export interface UsageMarkTable {
  request_seq: bigint;
}

/** Requests up to this number are in the rollups of five minutes, where they were settled then or later: one row. */
export interface UsageRecentMarkTable {
  request_seq: bigint;
  from_ms: bigint;
}

/** Between which numbers the ledger's entries of an hour are. */
export interface LedgerHoursTable {
  time_ms: bigint;
  first_seq: bigint;
  last_seq: bigint;
}

/** The last entry that is noted in them; one row. */
export interface LedgerMarkTable {
  seq: bigint;
}

/** Requests that were refused before a hold; the newest ones alone are kept. */
export interface RefusalsTable {
  seq: Generated<bigint>;
  id: string;
  at_ms: bigint;
  status: bigint;
  code: string;
  field: string | null;
  model: string | null;
  key_id: string | null;
  account_id: string | null;
  path: string;
}

/** Refusals of an hour. An absent model or key is empty. */
export interface RefusalCountsTable {
  time_ms: bigint;
  status: bigint;
  code: string;
  model: string;
  key_id: string;
  refusals: bigint;
}
