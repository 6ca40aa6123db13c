import type { SchemaWords } from "../engine.ts";

/** Sessions of the console: each process must know those that another one opened or ended. */
export const sessions = ({ integer, keyedTable }: SchemaWords): string[] => [
  `create table sessions (
    id text primary key,
    token_hash text,
    key_id text,
    created_at_ms ${integer} not null,
    seen_at_ms ${integer} not null,
    check ((token_hash is null) <> (key_id is null))
  ) ${keyedTable}`,
];
