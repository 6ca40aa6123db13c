import { sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Database } from "../../db/schema.ts";
import { writeMarked } from "./marked-write.ts";
import { type Measure, noMeasures } from "./measures.ts";
import { moveMark, type RollUpParts } from "./roll-up.ts";
import { type Rollup, storeRollups, sumRollups } from "./rollups.ts";
import { DAY_MS, isKeptBy, THIRTY_DAYS_MS, type View, VIEWS } from "./views.ts";

// A rollup of thirty days is the sum of its days' rollups. The gateway makes it once the days lie behind, and a roll-up of
// requests does not change it. It has the last number of the requests in its days. A request that is counted later has a
// later number. Where its time is in those thirty days, one of the days has a later last number than their sum from then
// on. So a read compares the numbers, and takes the days where the sum lacks a request. An older version beside this one
// writes days alone, and a read sees that in the same way.

const MEASURES = Object.keys(noMeasures()) as readonly Measure[];

/** A span of time: from the first moment on, and before the second. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Adds up the newest thirty days whose sums are missing or lack a request. As with `rollUp`, what was read is written only
 * where the mark is as it was. Resolves with whether there may be more to add up.
 */
export async function sumThirtyDays({
  database,
  engine,
  failpoint,
}: Omit<RollUpParts, "horizon" | "maxRequests">): Promise<boolean> {
  const fromMs = await unsummed(database);
  if (fromMs === undefined) return false;
  const { mark, rollups } = await atOneMoment(database, (tx) => addUp(tx, engine, fromMs));
  await writeMarked({
    database,
    failpoint,
    // It stays: days change with it alone.
    move: (tx) => moveMark(tx, mark, mark),
    write: (tx) => storeRollups(tx, engine, rollups),
  });
  return true;
}

/** Which thirty days of a span have sums with all of their days: when they begin, in order. */
export async function summedIn(database: Database, { fromMs, toMs }: Span): Promise<readonly number[]> {
  const { rows } = await sql<{ readonly start: bigint }>`select sums.start from (${SUMS}) as sums
    where sums.start >= ${BigInt(fromMs)} ${
      toMs === Infinity ? sql`` : sql`and sums.start <= ${BigInt(toMs - THIRTY_DAYS_MS)}`
    } and sums.last = (select max(last_seq) from usage_rollups where ${DAYS}
      and time_ms >= sums.start and time_ms < sums.start + ${sql.lit(THIRTY_DAYS_MS)})
    order by 1`.execute(database);
  return rows.map(({ start }) => Number(start));
}

const DAYS = sql`grain_ms = ${sql.lit(DAY_MS)} and view_name = 'outcome'`;

/** The smallest number of each: all rows of one have the same, as long as it was written whole. */
const SUMS = sql`select time_ms as start, min(last_seq) as last from usage_rollups
  where grain_ms = ${sql.lit(THIRTY_DAYS_MS)} and view_name = 'outcome' group by time_ms`;

const startOfDays = sql`time_ms - time_ms % ${sql.lit(THIRTY_DAYS_MS)}`;

/**
 * When the newest thirty days begin whose sums are missing or lack a request. Those of the last request do not count yet:
 * each roll-up would make their sums anew. The last request is the one with the last number, since a clock may once have
 * been set to a later year.
 */
async function unsummed(database: Database): Promise<number | undefined> {
  const { rows } = await sql<{ readonly start: bigint | null }>`select max(days.start) as start
    from (select ${startOfDays} as start, max(last_seq) as last from usage_rollups where ${DAYS} group by 1) as days
    left join (${SUMS}) as sums on sums.start = days.start
    where (sums.last is null or sums.last <> days.last) and days.start <
      (select ${startOfDays} from usage_rollups where ${DAYS} order by last_seq desc limit 1)`.execute(
    database,
  );
  const start = rows[0]?.start ?? null;
  return start === null ? undefined : Number(start);
}

async function addUp(
  database: Database,
  engine: Engine,
  fromMs: number,
): Promise<{ readonly mark: bigint; readonly rollups: readonly Rollup[] }> {
  const { request_seq: mark } = await database
    .selectFrom("usage_mark")
    .select("request_seq")
    .executeTakeFirstOrThrow();
  const time = sql`time_ms >= ${BigInt(fromMs)} and time_ms < ${BigInt(fromMs + THIRTY_DAYS_MS)}`;
  const numbers = await sql<{ readonly first: bigint; readonly last: bigint }>`
    select min(first_seq) as first, max(last_seq) as last from usage_rollups where ${DAYS} and ${time}
    having count(*) > 0`.execute(database);
  const { first: firstSeq, last: lastSeq } = numbers.rows[0] ?? { first: 0n, last: 0n };
  const rollups: Rollup[] = [];
  for (const view of Object.keys(VIEWS) as View[]) {
    if (!isKeptBy(THIRTY_DAYS_MS, view)) continue;
    const by = VIEWS[view].has;
    const form = { grainMs: DAY_MS, view, filter: {}, time, interval: undefined, by, measures: MEASURES };
    for (const { timeMs: _, ...sum } of await sumRollups(database, engine, form))
      rollups.push({ ...sum, grainMs: THIRTY_DAYS_MS, view, timeMs: fromMs, firstSeq, lastSeq });
  }
  return { mark, rollups };
}
