import { sql } from "kysely";
import { jsonOfAmounts } from "../../core/json/json-value.ts";
import { atOneMoment } from "../../db/one-moment.ts";
import type { Database } from "../../db/schema.ts";
import { givenRows } from "../given-rows.ts";
import { columnList, LEDGER_HOURS, type LedgerHour } from "../rows.ts";
import { writeMarked } from "./marked-write.ts";
import type { RollUpParts } from "./roll-up.ts";
import { HOUR_MS, startOf } from "./views.ts";

/** Entries that are looked at in one transaction. */
const MAX_ENTRIES = 5_000;

/**
 * Notes for each hour the first and the last number of its entries, up to the mark, which moves in the same
 * transaction. So entries of a time are found without an index by time, which each charge would pay for. Resolves with
 * whether there are more.
 */
export async function noteLedgerHours({
  database,
  engine,
  horizon,
  maxEntries = MAX_ENTRIES,
}: Pick<RollUpParts, "database" | "engine" | "horizon"> & {
  readonly maxEntries?: number;
}): Promise<boolean> {
  // Before the snapshot, which then has all entries up to it.
  const upTo = await horizon();
  const next = await atOneMoment(database, async (tx) => {
    const mark = await readLedgerMark(tx);
    return { mark, ...(await nextHours(tx, { mark, upTo, maxEntries })) };
  });
  const last = next.hours.at(-1)?.lastSeq;
  if (last === undefined) return false;
  const hours = jsonOfAmounts(next.hours);
  const members = Object.keys(LEDGER_HOURS.columns).map((member) => sql.ref(`t.${member}`));
  await writeMarked({
    database,
    move: (tx) =>
      tx
        .updateTable("ledger_mark")
        .set({ seq: last })
        .where("seq", "=", next.mark)
        .returning("seq")
        .execute(),
    // What is noted has lower numbers: only the last one of an hour changes.
    write: (tx) =>
      sql`insert into ledger_hours (${sql.raw(columnList(LEDGER_HOURS))})
      select ${sql.join(members)} from ${givenRows(engine, LEDGER_HOURS, hours)} where true
      on conflict (time_ms) do update set last_seq = excluded.last_seq`.execute(tx),
  });
  return next.entries === maxEntries;
}

/** How many entries come next, and the hours that they are of, the one with the last of them at the end. */
async function nextHours(
  database: Database,
  { mark, upTo, maxEntries }: { readonly mark: bigint; readonly upTo: bigint; readonly maxEntries: number },
): Promise<{ readonly entries: number; readonly hours: readonly LedgerHour[] }> {
  const hour = sql`created_at_ms - created_at_ms % ${sql.lit(HOUR_MS)}`;
  const { rows } = await sql<{ readonly [Name in keyof LedgerHour | "entries"]: bigint }>`
    select cast(${hour} as bigint) as ${sql.id("timeMs")}, min(seq) as ${sql.id("firstSeq")},
      max(seq) as ${sql.id("lastSeq")}, count(*) as entries
    from (select seq, created_at_ms from ledger where seq > ${mark} and seq <= ${upTo} order by seq
      limit ${maxEntries}) as next group by 1 order by 3`.execute(database);
  return {
    entries: rows.reduce((sum, { entries }) => sum + Number(entries), 0),
    hours: rows.map(({ timeMs, firstSeq, lastSeq }) => ({ timeMs: Number(timeMs), firstSeq, lastSeq })),
  };
}

async function readLedgerMark(database: Database): Promise<bigint> {
  const { seq } = await database.selectFrom("ledger_mark").select("seq").executeTakeFirstOrThrow();
  return seq;
}

/** Where entries of a time are: between two numbers, and all above a third. */
export interface LedgerBounds {
  readonly first: bigint;
  readonly last: bigint;
  readonly mark: bigint;
}

/** Between which numbers the entries of a time are; above the mark they may be anywhere. */
export async function ledgerBounds(
  database: Database,
  { fromMs, toMs }: { readonly fromMs?: number; readonly toMs?: number },
): Promise<LedgerBounds> {
  // First, so that the hours that are read after it have every entry below it.
  const mark = await readLedgerMark(database);
  let hours = database
    .selectFrom("ledger_hours")
    .select(({ fn }) => [fn.min("first_seq").as("first"), fn.max("last_seq").as("last")]);
  if (fromMs !== undefined) hours = hours.where("time_ms", ">=", BigInt(startOf(HOUR_MS, fromMs)));
  if (toMs !== undefined) hours = hours.where("time_ms", "<", BigInt(toMs));
  const { first, last } = (await hours.executeTakeFirst()) ?? {};
  return { mark, first: first ?? mark + 1n, last: last ?? mark };
}
