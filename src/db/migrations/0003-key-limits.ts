import type { SchemaWords } from "../engine.ts";

/** Limits of a key per minute and at once; null for none. */
export const keyLimits = ({ integer }: SchemaWords): string[] =>
  ["requests_per_minute", "tokens_per_minute", "concurrency"].map(
    (column) => `alter table keys add column ${column} ${integer} check (${column} >= 1)`,
  );
