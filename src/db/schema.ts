import type { Generated } from "kysely";

/** Tables as the stores hold them. Integers read as `bigint`; times are milliseconds, money is micro-credits. */
export interface Tables {
  accounts: AccountsTable;
  keys: KeysTable;
  price_versions: PriceVersionsTable;
  holds: HoldsTable;
  ledger: LedgerTable;
}

/** Who pays. `balance` and `held` are changed only together with the rows that explain them. */
export interface AccountsTable {
  seq: Generated<bigint>;
  id: string;
  name: string;
  status: "active" | "disabled";
  balance: bigint;
  held: bigint;
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
  amount: bigint;
  state: "held" | "settled" | "voided";
  price_version: string;
  created_at_ms: bigint;
  expires_at_ms: bigint;
  ended_at_ms: bigint | null;
  end_reason: string | null;
  settled: bigint | null;
  /** JSON: tokens by bucket. */
  usage: string | null;
  /** JSON array of usage flags. */
  flags: string | null;
}

/** Movements of credit, never changed and never deleted. `counter` is the account on the other side. */
export interface LedgerTable {
  seq: Generated<bigint>;
  cause: string;
  account_id: string;
  counter: "funding" | "revenue" | "operator_loss";
  amount: bigint;
  balance_after: bigint;
  kind: "grant" | "settle" | "loss";
  request_id: string | null;
  reason: string | null;
  created_at_ms: bigint;
}
