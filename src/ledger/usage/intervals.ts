import { type RawBuilder, sql } from "kysely";
import { DAY_MS, HOUR_MS, startOf } from "./views.ts";

/** Into what a time can be divided. Days are those of UTC, and weeks begin with its Mondays. */
export const INTERVALS = ["hour", "day", "week"] as const;
export type Interval = (typeof INTERVALS)[number];

const LENGTHS_MS = { hour: HOUR_MS, day: DAY_MS, week: 7 * DAY_MS };

/** When one of them began first: 1970 did with a Thursday. */
const FIRST_MS = { hour: 0, day: 0, week: 4 * DAY_MS };

/** When the interval of a moment begins. */
export function beginOf(interval: Interval, ms: number): number {
  const firstMs = FIRST_MS[interval];
  return firstMs + startOf(LENGTHS_MS[interval], ms - firstMs);
}

/**
 * When the interval of a row begins that is of a time of `rowMs` from `time_ms` on. Constants in the text: a parameter
 * would be another expression at each place.
 */
export function beginOfRow(interval: Interval, rowMs: number): RawBuilder<bigint> {
  // By the time itself groups come in the order of the primary key, and nothing is sorted.
  if (LENGTHS_MS[interval] === rowMs) return sql`time_ms`;
  const [first, length] = [sql.lit(FIRST_MS[interval]), sql.lit(LENGTHS_MS[interval])];
  return sql`time_ms - (time_ms - ${first}) % ${length}`;
}
