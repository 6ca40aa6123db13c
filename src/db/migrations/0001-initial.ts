import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";

const STATEMENTS = [
  `create table accounts (
    seq integer primary key autoincrement,
    id text not null unique,
    name text not null,
    status text not null default 'active' check (status in ('active', 'disabled')),
    balance integer not null default 0 check (balance >= 0 and balance <= 9007199254740991),
    held integer not null default 0 check (held >= 0 and held <= balance),
    created_at_ms integer not null
  ) strict`,
  `create table keys (
    seq integer primary key autoincrement,
    id text not null unique,
    account_id text not null references accounts (id),
    name text not null,
    hash text not null unique,
    hint text not null,
    models text,
    expires_at_ms integer,
    revoked_at_ms integer,
    created_at_ms integer not null
  ) strict`,
  `create table price_versions (
    version text primary key,
    model text not null,
    rules text not null,
    created_at_ms integer not null
  ) strict, without rowid`,
  `create table holds (
    id text primary key,
    account_id text not null references accounts (id),
    key_id text not null,
    request_id text not null,
    boot_id text not null,
    amount integer not null check (amount >= 0),
    state text not null check (state in ('held', 'settled', 'voided')),
    price_version text not null references price_versions (version),
    created_at_ms integer not null,
    expires_at_ms integer not null,
    ended_at_ms integer,
    end_reason text,
    settled integer,
    usage text,
    flags text,
    check ((state = 'held') = (ended_at_ms is null)),
    check ((state = 'settled') = (settled is not null))
  ) strict, without rowid`,
  `create index holds_open on holds (expires_at_ms) where state = 'held'`,
  `create table ledger (
    seq integer primary key autoincrement,
    cause text not null unique,
    account_id text not null,
    counter text not null check (counter in ('funding', 'revenue', 'operator_loss')),
    amount integer not null,
    balance_after integer not null,
    kind text not null check (kind in ('grant', 'settle', 'loss')),
    request_id text,
    reason text,
    created_at_ms integer not null
  ) strict`,
  `create index ledger_statement on ledger (account_id, seq)`,
  `create table store_health (pings integer not null) strict`,
  `insert into store_health (pings) values (0)`,
  `create trigger ledger_is_append_only_update before update on ledger
    begin select raise(abort, 'ledger rows are never changed'); end`,
  `create trigger ledger_is_append_only_delete before delete on ledger
    begin select raise(abort, 'ledger rows are never deleted'); end`,
];

/** Accounts, keys, price versions, holds and the ledger. */
export const initial: Migration = {
  async up(db: Kysely<unknown>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
  },
};
