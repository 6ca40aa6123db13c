import type { SchemaWords } from "../engine.ts";

/**
 * Usage by hour and by day, how far requests are counted in it, and requests that were refused before a hold. Names that
 * a row of usage does not tell apart are empty.
 */
export const usage = ({ sequence, integer, table, keyedTable }: SchemaWords): string[] => [
  `create table usage_rollups (
    grain_ms ${integer} not null,
    view_name text not null,
    time_ms ${integer} not null,
    model text not null,
    provider text not null,
    account_id text not null,
    key_id text not null,
    outcome text not null,
    requests ${integer} not null,
    failed ${integer} not null,
    input_tokens ${integer} not null,
    output_tokens ${integer} not null,
    cache_read_tokens ${integer} not null,
    images ${integer} not null,
    seconds ${integer} not null,
    credit ${integer} not null,
    cost ${integer} not null,
    credit_with_cost ${integer} not null,
    latency text not null,
    first_byte text not null,
    first_seq ${integer} not null,
    last_seq ${integer} not null,
    primary key (grain_ms, view_name, time_ms, model, provider, account_id, key_id, outcome)
  ) ${keyedTable}`,
  `create index usage_of_key on usage_rollups (key_id, grain_ms, view_name, time_ms)`,
  `create index usage_of_account on usage_rollups (account_id, grain_ms, view_name, time_ms)`,
  `create table usage_mark (request_seq ${integer} not null) ${table}`,
  `insert into usage_mark (request_seq) values (0)`,
  `create table refusals (
    seq ${sequence},
    id text not null unique,
    at_ms ${integer} not null,
    status ${integer} not null,
    code text not null,
    field text,
    model text,
    key_id text,
    account_id text,
    path text not null
  ) ${table}`,
  `create table refusal_counts (
    time_ms ${integer} not null,
    status ${integer} not null,
    code text not null,
    model text not null,
    key_id text not null,
    refusals ${integer} not null,
    primary key (time_ms, status, code, model, key_id)
  ) ${keyedTable}`,
];
