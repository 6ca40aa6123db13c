import type { SchemaWords } from "../engine.ts";

/**
 * What each request cost the operator, and whether a key may ask for a route. A process of an earlier version beside
 * this one writes neither: the cost is then not known, and the key may not.
 */
export const routes = ({ integer }: SchemaWords): string[] => [
  // Without a check: PostgreSQL would look at every row while it keeps all others from the table.
  `alter table requests add column cost ${integer}`,
  `alter table keys add column routes ${integer} not null default 0 check (routes in (0, 1))`,
];
