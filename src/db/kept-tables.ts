import type { Generated, Kysely } from "kysely";

/** The tables of answers that are kept for their accounts; no money moves with them. */
export type KeptDatabase = Kysely<KeptTables>;

/** Beside the books' tables on PostgreSQL, in a file of their own on SQLite. */
export interface KeptTables {
  kept_responses: KeptResponsesTable;
  kept_items: KeptItemsTable;
}

/** Answers, each with what was asked. */
export interface KeptResponsesTable {
  seq: Generated<bigint>;
  account_id: string;
  id: string;
  /** The answer that it goes on from. */
  previous_id: string | null;
  created_at_ms: bigint;
  /** What the sealed texts take. */
  bytes: bigint;
  /** Sealed: the items that were asked with it, those of its output, and the response object without them. */
  input: string;
  output: string;
  frame: string;
}

/** In which answer's output an item stands. */
export interface KeptItemsTable {
  account_id: string;
  id: string;
  response_id: string;
  created_at_ms: bigint;
}
