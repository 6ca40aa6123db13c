import type { SchemaWords } from "../engine.ts";

/** Accounts, keys, price versions, holds and the ledger. */
export const initial = ({ sequence, integer, table, keyedTable, protectLedger }: SchemaWords): string[] => [
  `create table accounts (
    seq ${sequence},
    id text not null unique,
    name text not null,
    status text not null default 'active' check (status in ('active', 'disabled')),
    balance ${integer} not null default 0 check (balance >= 0 and balance <= 9007199254740991),
    held ${integer} not null default 0 check (held >= 0 and held <= balance),
    created_at_ms ${integer} not null
  ) ${table}`,
  `create table keys (
    seq ${sequence},
    id text not null unique,
    account_id text not null references accounts (id),
    name text not null,
    hash text not null unique,
    hint text not null,
    models text,
    expires_at_ms ${integer},
    revoked_at_ms ${integer},
    created_at_ms ${integer} not null
  ) ${table}`,
  `create table price_versions (
    version text primary key,
    model text not null,
    rules text not null,
    created_at_ms ${integer} not null
  ) ${keyedTable}`,
  `create table holds (
    id text primary key,
    account_id text not null references accounts (id),
    key_id text not null,
    request_id text not null,
    boot_id text not null,
    amount ${integer} not null check (amount >= 0),
    state text not null check (state in ('held', 'settled', 'voided')),
    price_version text not null references price_versions (version),
    created_at_ms ${integer} not null,
    expires_at_ms ${integer} not null,
    ended_at_ms ${integer},
    end_reason text,
    settled ${integer},
    usage text,
    flags text,
    check ((state = 'held') = (ended_at_ms is null)),
    check ((state = 'settled') = (settled is not null))
  ) ${keyedTable}`,
  `create index holds_open on holds (expires_at_ms) where state = 'held'`,
  `create table ledger (
    seq ${sequence},
    cause text not null unique,
    account_id text not null,
    counter text not null check (counter in ('funding', 'revenue', 'operator_loss')),
    amount ${integer} not null,
    balance_after ${integer} not null,
    kind text not null check (kind in ('grant', 'settle', 'loss')),
    request_id text,
    reason text,
    created_at_ms ${integer} not null
  ) ${table}`,
  `create index ledger_statement on ledger (account_id, seq)`,
  `create table store_health (pings ${integer} not null) ${table}`,
  `insert into store_health (pings) values (0)`,
  ...protectLedger,
];
