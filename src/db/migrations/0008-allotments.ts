import type { SchemaWords } from "../engine.ts";

/**
 * Allotments: credit that one of several processes may hold from in memory, beside what the tables say is held. An
 * embedded store has the columns and never anything in them.
 */
export const allotments = ({ integer, table, sharedBooks }: SchemaWords): string[] => [
  `alter table accounts add column allotted ${integer} not null default 0
    check (allotted >= 0 and held + allotted <= balance)`,
  `alter table accounts add column recalled_at_ms ${integer} not null default 0`,
  `alter table keys add column allotted ${integer} not null default 0 check (allotted >= 0)`,
  `create table allotments (
    id text primary key,
    boot_id text not null,
    account_id text not null references accounts (id),
    key_id text not null,
    amount ${integer} not null check (amount >= 0),
    held ${integer} not null
  ) ${table}`,
  `create index allotments_of_account on allotments (account_id)`,
  `create index allotments_of_process on allotments (boot_id)`,
  // Whether the process knows of allotments: none is given while one lives that does not.
  `alter table processes add column allots ${integer} not null default 0`,
  ...sharedBooks,
];
