import type { SchemaWords } from "../engine.ts";

/** What a key may use in a minute and at once; null for no limit of its own. */
export const keyLimits = ({ integer }: SchemaWords): string[] =>
  ["requests_per_minute", "tokens_per_minute", "concurrency"].map(
    (column) => `alter table keys add column ${column} ${integer} check (${column} >= 1)`,
  );
