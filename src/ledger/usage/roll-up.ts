import { type Failpoint, noFailpoint } from "../../core/failpoint.ts";
import type { Engine } from "../../db/engine.ts";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Database } from "../../db/schema.ts";
import type { Horizon } from "./horizon.ts";
import { selectCounted } from "./measures.ts";
import { rollupsOf, storeRollups, withStored } from "./rollups.ts";
import { DAY_MS, HOUR_MS } from "./views.ts";

/** Requests that are counted in one transaction: writes to an embedded store wait for it. */
const MAX_REQUESTS = 500;

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
 * Counts the next requests in the rollups and moves the mark past them, in one transaction. Rollups change with the mark
 * alone: what was read of both is written only where the mark is as it was, so that each request is counted once, however
 * often and by however many processes this is done. Resolves with whether there is more to count now.
 */
export async function rollUp(parts: RollUpParts): Promise<boolean> {
  const { database, engine, horizon, failpoint = noFailpoint, maxRequests = MAX_REQUESTS } = parts;
  // Before the snapshot, which then has all rows up to it.
  const upTo = await horizon();
  const next = await atOneMoment(database, engine, (tx) => readNext(tx, engine, { upTo, maxRequests }));
  if (next === undefined) return false;
  failpoint("usage.before_mark");
  await database.transaction().execute(async (tx) => {
    // It takes the lock of the mark, and with it an embedded store's lock for writing.
    const moved = await tx
      .updateTable("usage_mark")
      .set({ request_seq: next.last })
      .where("request_seq", "=", next.mark)
      .returning("request_seq")
      .execute();
    if (moved.length === 0) return;
    failpoint("usage.before_rollups");
    await storeRollups(tx, engine, next.rollups);
    failpoint("usage.before_commit");
  });
  failpoint("usage.after_commit");
  return next.isFull;
}

async function readNext(
  database: Database,
  engine: Engine,
  { upTo, maxRequests }: { readonly upTo: bigint; readonly maxRequests: number },
) {
  const { request_seq: mark } = await database
    .selectFrom("usage_mark")
    .select("request_seq")
    .executeTakeFirstOrThrow();
  const rows = await selectCounted(database)
    .where("seq", ">", mark)
    .where("seq", "<=", upTo)
    .limit(maxRequests)
    .execute();
  const last = rows.at(-1)?.seq;
  if (last === undefined) return undefined;
  const rollups = await withStored(database, engine, rollupsOf(rows, [HOUR_MS, DAY_MS]));
  return { mark, last, rollups, isFull: rows.length === maxRequests };
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
