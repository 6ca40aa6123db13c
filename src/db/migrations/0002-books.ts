import type { SchemaWords } from "../engine.ts";

/**
 * Budgets of keys, one row per paid request, processes and their leases, facts of an installation, and how far the
 * audit has come. The usage of a hold moves from the hold to its request.
 */
export const books = (words: SchemaWords): string[] => {
  const { sequence, integer, table, keyedTable } = words;
  return [
    `alter table keys add column budget ${integer} check (budget >= 0)`,
    `alter table keys add column spent ${integer} not null default 0 check (spent >= 0)`,
    `alter table keys add column held ${integer} not null default 0 check (held >= 0)`,
    `update keys set spent = of_key.spent, held = of_key.held
     from (select key_id, coalesce(sum(settled), 0) as spent, sum(case state when 'held' then amount else 0 end) as held
       from holds group by key_id) as of_key
     where of_key.key_id = keys.id`,

    `create table requests (
      seq ${sequence},
      id text not null unique,
      account_id text not null,
      key_id text not null,
      hold_id text not null,
      model text not null,
      provider text,
      outcome text not null,
      charge ${integer} not null check (charge >= 0),
      price_version text not null,
      usage text,
      flags text,
      attempts text not null,
      admitted_at_ms ${integer} not null,
      held_at_ms ${integer} not null,
      first_byte_at_ms ${integer},
      ended_at_ms ${integer} not null,
      settled_at_ms ${integer} not null
    ) ${table}`,
    `create index requests_of_account on requests (account_id, seq)`,
    `insert into requests
      (id, account_id, key_id, hold_id, model, outcome, charge, price_version, usage, flags, attempts,
       admitted_at_ms, held_at_ms, ended_at_ms, settled_at_ms)
     select h.request_id, h.account_id, h.key_id, h.id, p.model, h.end_reason, coalesce(h.settled, 0), h.price_version,
       h.usage, h.flags, '[]', h.created_at_ms, h.created_at_ms, h.ended_at_ms, h.ended_at_ms
     from holds h join price_versions p on p.version = h.price_version
     where h.state <> 'held' order by h.created_at_ms`,
    `alter table holds drop column usage`,
    `alter table holds drop column flags`,
    `alter table holds add column model text not null default ''`,
    `update holds set model = (select model from price_versions where version = price_version)`,
    `alter table holds add column expected_cost ${integer} not null default 0`,

    ...words.unprotectLedger,
    `alter table ledger add column key_id text`,
    // By the hold's id, not by the cause that is made of it: each hold is then looked up instead of all of them.
    `update ledger set key_id = (select key_id from holds
       where holds.id = substr(ledger.cause, 1, length(ledger.cause) - length(':settle')))
     where kind = 'settle'`,
    ...words.protectLedger,

    `create table processes (
      boot_id text primary key,
      lease_until_ms ${integer} not null
    ) ${keyedTable}`,
    `create table installation (
      name text primary key,
      value text not null
    ) ${keyedTable}`,
    `create table audit_marks (
      subject_id text primary key,
      ledger_seq ${integer} not null,
      amount ${integer} not null,
      request_seq ${integer} not null,
      checked_at_ms ${integer} not null
    ) ${keyedTable}`,
  ];
};
