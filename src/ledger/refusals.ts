import { sql } from "kysely";
import { jsonOfAmounts } from "../core/json/json-value.ts";
import type { Engine } from "../db/engine.ts";
import type { Database } from "../db/schema.ts";
import { givenRows } from "./given-rows.ts";
import {
  columnList,
  REFUSAL_COUNTS,
  type RefusalCount,
  type RefusalRow,
  REFUSALS,
  type Rows,
} from "./rows.ts";

/** Refusals that are kept; counts of them stay. */
const MAX_KEPT = 10_000n;

/** Refusals to write, and what they and others come to by hour. */
export interface GatheredRefusals {
  readonly rows: readonly RefusalRow[];
  readonly counts: readonly RefusalCount[];
}

/** Writes refusals in one transaction, and deletes the oldest beyond those that are kept. */
export async function writeRefusals(
  database: Database,
  engine: Engine,
  { rows, counts }: GatheredRefusals,
): Promise<void> {
  await database.transaction().execute(async (tx) => {
    await insert(REFUSALS, rows, "on conflict (id) do nothing").execute(tx);
    await insert(
      REFUSAL_COUNTS,
      counts,
      `on conflict (time_ms, status, code, model, key_id)
        do update set refusals = refusal_counts.refusals + excluded.refusals`,
    ).execute(tx);
    await sql`delete from refusals where seq <= (select max(seq) from refusals) - ${MAX_KEPT}`.execute(tx);
  });

  function insert(described: Rows, given: readonly object[], end: string) {
    const members = Object.keys(described.columns).map((member) => sql.ref(`t.${member}`));
    return sql`insert into ${sql.table(described.table)} (${sql.raw(columnList(described))})
      select ${sql.join(members)} from ${givenRows(engine, described, jsonOfAmounts(given))} where true ${sql.raw(end)}`;
  }
}
