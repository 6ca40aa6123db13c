import type { Failpoint } from "../../core/failpoint.ts";
import type { Engine } from "../../db/engine.ts";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Database } from "../../db/schema.ts";
import type { Horizon } from "./horizon.ts";
import { writeMarked } from "./marked-write.ts";
import { selectCounted } from "./measures.ts";
import { rollupsOf, storeRollups, withStored } from "./rollups.ts";
import { DAY_MS, HOUR_MS } from "./views.ts";

/**
 * Requests that are counted in one transaction. Writes to an embedded store wait for it, and it writes rollups alone.
 * Their number depends on the names that requests have, more than on the number of requests.
 */
const MAX_REQUESTS = 2_000;

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
 * Counts the next requests in the rollups and moves the mark past them, in one transaction. Rollups change with the
 * mark alone: what was read of both is written only where the mark is as it was. So each request is counted once,
 * however often and by however many processes this is done. Resolves with whether there is more to count now.
 */
export async function rollUp(parts: RollUpParts): Promise<boolean> {
  const { database, engine, horizon, failpoint, maxRequests = MAX_REQUESTS } = parts;
  // Before the snapshot, which then has all rows up to it.
  const upTo = await horizon();
  const next = await atOneMoment(database, (tx) => readNext(tx, engine, { upTo, maxRequests }));
  if (next === undefined) return false;
  await writeMarked({
    database,
    failpoint,
    move: (tx) => moveMark(tx, next.mark, next.last),
    write: (tx) => storeRollups(tx, engine, next.rollups),
  });
  return next.isFull;
}

/** Moves the mark of counted requests; gives no row where it is not at `from`. */
export function moveMark(database: Database, from: bigint, to: bigint): Promise<readonly unknown[]> {
  return database
    .updateTable("usage_mark")
    .set({ request_seq: to })
    .where("request_seq", "=", from)
    .returning("request_seq")
    .execute();
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
