import type { SchemaWords } from "../engine.ts";

/**
 * What operators' lists are found by, none of it on a table that requests write. Of the ledger's entries, the first and
 * the last number of each hour, up to a mark. Of requests, the days that have some that ended in some way, by model and
 * provider. Of tasks, their key, model and provider.
 */
export const found = ({ integer, table, keyedTable }: SchemaWords): string[] => [
  `create table ledger_hours (
    time_ms ${integer} primary key,
    first_seq ${integer} not null,
    last_seq ${integer} not null
  ) ${keyedTable}`,
  `create table ledger_mark (seq ${integer} not null) ${table}`,
  `insert into ledger_mark (seq) values (0)`,
  // It has all that is read by it: of the busiest model there are many thousands of rows in a year.
  `create index usage_by_outcome on usage_rollups (outcome, model, time_ms, provider, first_seq, last_seq, requests)
    where view_name = 'full' and grain_ms = 86400000`,
  `create index tasks_by_time on tasks (created_at_ms, state, seq)`,
  // None by the state alone: the queue and the books would be led to it.
  ...["key_id", "model", "provider"].map(
    (column) => `create index tasks_by_${column} on tasks (${column}, seq)`,
  ),
];
