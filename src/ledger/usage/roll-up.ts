import { type Failpoint, noFailpoint } from "../../core/failpoint.ts";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import type { Horizon } from "./horizon.ts";
import { countedRow, selectCounted } from "./measures.ts";
import { rollupsOf, storeRollups, withStored } from "./rollups.ts";

/** Requests that are counted in one transaction: writes to an embedded store wait for it. */
const MAX_REQUESTS = 1_000;

/** What rolls usage up. */
export interface RollUpParts {
  /** A connection of its own that may write. */
  readonly database: Database;
  readonly engine: Engine;
  readonly horizon: Horizon;
  readonly failpoint?: Failpoint;
  readonly maxRequests?: number;
}

/**
 * Counts the next requests in the rollups and moves the mark past them, in one transaction: each request is counted once,
 * however often and by however many processes this is done. Resolves with whether there is more to count now.
 */
export async function rollUp({
  database,
  engine,
  horizon,
  failpoint = noFailpoint,
  maxRequests = MAX_REQUESTS,
}: RollUpParts): Promise<boolean> {
  // Before the transaction, which then sees all rows up to it.
  const upTo = await horizon();
  const counted = await database.transaction().execute(async (tx) => {
    // The first statement takes the lock of the mark, and with it an embedded store's lock for writing.
    const mark = await tx
      .updateTable("usage_mark")
      .set((row) => ({ request_seq: row.ref("request_seq") }))
      .returning("request_seq")
      .executeTakeFirstOrThrow();
    const rows = await selectCounted(tx)
      .where("seq", ">", mark.request_seq)
      .where("seq", "<=", upTo)
      .limit(maxRequests)
      .execute();
    const last = rows.at(-1);
    if (last === undefined) return 0;
    const rollups = await withStored(tx, engine, rollupsOf(rows.map(countedRow)));
    failpoint("usage.before_rollups");
    await storeRollups(tx, engine, rollups);
    failpoint("usage.before_mark");
    await tx
      .updateTable("usage_mark")
      .set({ request_seq: last.seq })
      .where("request_seq", "=", mark.request_seq)
      .execute();
    failpoint("usage.before_commit");
    return rows.length;
  });
  failpoint("usage.after_commit");
  return counted === maxRequests;
}

/** Whether there are requests that are not counted yet. */
export async function hasUncounted(database: Database): Promise<boolean> {
  const row = await database
    .selectFrom("requests")
    .select("seq")
    .where("seq", ">", (mark) => mark.selectFrom("usage_mark").select("request_seq"))
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
