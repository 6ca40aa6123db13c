import { type RawBuilder, sql } from "kysely";

/** A part of time, in milliseconds; an absent end is open. */
export interface TimeRange {
  /** At this time or later; */
  readonly fromMs?: number;
  /** before this one. */
  readonly toMs?: number;
}

/** Whether a column of times lies in the range. */
export function within(column: string, { fromMs, toMs }: TimeRange): RawBuilder<boolean> {
  const conditions: RawBuilder<unknown>[] = [];
  if (fromMs !== undefined) conditions.push(sql`${sql.ref(column)} >= ${BigInt(fromMs)}`);
  if (toMs !== undefined) conditions.push(sql`${sql.ref(column)} < ${BigInt(toMs)}`);
  return conditions.length === 0 ? sql.lit(true) : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}
