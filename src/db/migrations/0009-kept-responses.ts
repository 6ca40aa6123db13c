import type { SchemaWords } from "../engine.ts";

/**
 * Answers of Responses that later requests of their account may name, sealed. `previous_id` is a link and no copy.
 * Which answer an item stands in is known by its id. A row of an answer that is gone says nothing, and goes with its
 * time.
 */
export const keptResponses = ({ sequence, integer, table, keyedTable }: SchemaWords): string[] => [
  `create table kept_responses (
    seq ${sequence},
    account_id text not null,
    id text not null,
    previous_id text,
    created_at_ms ${integer} not null,
    bytes ${integer} not null,
    input text not null,
    output text not null,
    frame text not null,
    unique (account_id, id)
  ) ${table}`,
  `create index kept_responses_of_account on kept_responses (account_id, seq, bytes)`,
  `create index kept_responses_by_time on kept_responses (created_at_ms)`,
  `create table kept_items (
    account_id text not null,
    id text not null,
    response_id text not null,
    created_at_ms ${integer} not null,
    primary key (account_id, id)
  ) ${keyedTable}`,
  `create index kept_items_by_time on kept_items (created_at_ms)`,
];
