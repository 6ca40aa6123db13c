import { sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Database } from "../../db/schema.ts";
import { writeMarked } from "./marked-write.ts";
import { selectCounted, timeOf } from "./measures.ts";
import type { RollUpParts } from "./roll-up.ts";
import { rollupsOf, storeRollups, withStored } from "./rollups.ts";
import { FIVE_MINUTES_MS, HOUR_MS, startOf } from "./views.ts";

/** How long usage by five minutes is kept: the last hour, the hour before it, and one in which they are read. */
const KEPT_MS = 3 * HOUR_MS;

/**
 * Requests that are counted at once, and are read one by one until then. With fewer the same rollups are written more
 * often: most of the work is theirs.
 */
const MAX_REQUESTS = 5_000;

/** A request is in one rollup of each view by five minutes: so many are the most that a batch adds, and drops. */
const VIEWS_KEPT = 3;

/** How far usage by five minutes reaches. */
export interface RecentMark {
  /** Requests up to this number are counted, */
  readonly seq: bigint;
  /** all of those that were settled at this time or later. */
  readonly fromMs: number;
}

/** How far it reaches at the moment of the connection. */
export async function readRecentMark(database: Database): Promise<RecentMark> {
  const { request_seq, from_ms } = await database
    .selectFrom("usage_recent_mark")
    .selectAll()
    .executeTakeFirstOrThrow();
  return { seq: request_seq, fromMs: Number(from_ms) };
}

/**
 * Counts the next requests of the rollups of hours by five minutes, too, and drops what is older than the last hours,
 * in one transaction. Until there are enough of them it does nothing. As with `rollUp`, what was read is written only
 * where the mark is as it was. Resolves with whether there is more to count now.
 */
export async function rollUpRecent({
  database,
  engine,
  failpoint,
  maxRequests = MAX_REQUESTS,
}: Omit<RollUpParts, "horizon">): Promise<boolean> {
  // Mostly there are too few: one statement finds that.
  if ((await waitingIn(database)) < BigInt(maxRequests)) return false;
  const next = await atOneMoment(database, (tx) => readNext(tx, engine, maxRequests));
  if (next === undefined) return false;
  await writeMarked({
    database,
    failpoint,
    move: (tx) =>
      tx
        .updateTable("usage_recent_mark")
        .set({ request_seq: next.last, from_ms: BigInt(next.fromMs) })
        .where("request_seq", "=", next.mark)
        .returning("request_seq")
        .execute(),
    async write(tx) {
      await storeRollups(tx, engine, next.rollups);
      await dropBefore(tx, next.fromMs, VIEWS_KEPT * maxRequests);
    },
  });
  return next.isMore;
}

/** How many numbers are counted by hours and not by five minutes. */
async function waitingIn(database: Database): Promise<bigint> {
  const { waiting } = await database
    .selectFrom(["usage_mark as counted", "usage_recent_mark as recent"])
    .select(sql<bigint>`counted.request_seq - recent.request_seq`.as("waiting"))
    .executeTakeFirstOrThrow();
  return waiting;
}

async function readNext(database: Database, engine: Engine, maxRequests: number) {
  const recent = await readRecentMark(database);
  const { request_seq: counted } = await database
    .selectFrom("usage_mark")
    .select("request_seq")
    .executeTakeFirstOrThrow();
  if (counted - recent.seq < BigInt(maxRequests)) return undefined;
  const rows = await selectCounted(database)
    .where("seq", ">", recent.seq)
    .where("seq", "<=", counted)
    .limit(maxRequests)
    .execute();
  const newestMs = rows.reduce((newest, row) => Math.max(newest, timeOf(row)), 0);
  const fromMs = Math.max(recent.fromMs, startOf(FIVE_MINUTES_MS, newestMs - KEPT_MS));
  const kept = rollupsOf(
    rows.filter((row) => timeOf(row) >= fromMs),
    [FIVE_MINUTES_MS],
  );
  // Numbers have gaps: there may be none left.
  const last = rows.at(-1)?.seq ?? counted;
  const rollups = await withStored(database, engine, kept);
  return { mark: recent.seq, last, fromMs, rollups, isMore: counted - last >= BigInt(maxRequests) };
}

/** Rollups that are not read any more; what is left of them is dropped with a later batch. */
async function dropBefore(database: Database, fromMs: number, most: number): Promise<void> {
  const key = sql.raw("grain_ms, view_name, time_ms, model, provider, account_id, key_id, outcome");
  await sql`delete from usage_rollups where (${key}) in (select ${key} from usage_rollups
    where grain_ms = ${sql.lit(FIVE_MINUTES_MS)} and view_name in ('outcome', 'route', 'full')
      and time_ms < ${BigInt(fromMs)} limit ${most})`.execute(database);
}
