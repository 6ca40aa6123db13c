import type { Generated, Kysely } from "kysely";

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
  processes: ProcessesTable;
  installation: InstallationTable;
  audit_marks: AuditMarksTable;
  store_health: StoreHealthTable;
}

/** Who pays. `balance` and `held` are changed only together with the rows that explain them. */
export interface AccountsTable {
  seq: Generated<bigint>;
  id: string;
  name: string;
  status: Generated<"active" | "disabled">;
  balance: Generated<bigint>;
  held: Generated<bigint>;
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
  /** The most that the key may ever spend; null for no bound of its own. */
  budget: bigint | null;
  /** Charges of the key so far. */
  spent: Generated<bigint>;
  /** Amounts of its open holds. */
  held: Generated<bigint>;
  /** What the key may use in a minute and at once; null for no limit of its own. */
  requests_per_minute: bigint | null;
  tokens_per_minute: bigint | null;
  concurrency: bigint | null;
}

/** Every list of prices that a hold was ever made by. */
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
  /** What the operator is taken to have lost when the process that made the hold dies. */
  expected_cost: bigint;
  state: "held" | "settled" | "voided";
  price_version: string;
  created_at_ms: bigint;
  expires_at_ms: bigint;
  ended_at_ms: bigint | null;
  end_reason: string | null;
  settled: bigint | null;
}

/**
 * Movements of credit, never changed and never deleted. `counter` is the account on the other side, so that every
 * row is a double entry; losses stand under the account `operator`, which has no balance.
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

/** One row for each request that credit was held for, written in the transaction that ends its hold. */
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
}

/** Processes that share the store, each alive while its lease lasts by the store's clock. */
export interface ProcessesTable {
  boot_id: string;
  lease_until_ms: bigint;
}

/** What an installation knows of itself, by name. */
export interface InstallationTable {
  name: string;
  value: string;
}

/** How far the audit has found each account and each key right, and what it had come to: its balance, or what it had spent. */
export interface AuditMarksTable {
  subject_id: string;
  ledger_seq: bigint;
  amount: bigint;
  request_seq: bigint;
  checked_at_ms: bigint;
}

/** Written to find out whether the store takes writes. */
export interface StoreHealthTable {
  pings: bigint;
}
