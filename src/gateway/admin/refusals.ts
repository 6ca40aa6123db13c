import { sql } from "kysely";
import { ERRORS, GatewayError } from "../../core/errors.ts";
import type { Database } from "../../db/schema.ts";
import { beginOfRow, INTERVALS } from "../../ledger/usage/intervals.ts";
import { HOUR_MS, startOf } from "../../ledger/usage/views.ts";
import { REFUSED_STATUSES } from "../refusals.ts";
import type { Named } from "./filters.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import { type TimeRange, within } from "./time-range.ts";

/** A refused request as the admin interface shows it: what was wrong and where, never what was sent. */
export interface RefusalView {
  readonly id: string;
  readonly at: number;
  readonly status: number;
  /** The error's code, or its type where it has none. */
  readonly code: string;
  /** The field at fault. */
  readonly field: string | null;
  readonly model: string | null;
  readonly key_id: string | null;
  readonly account_id: string | null;
  readonly path: string;
}

/** A filter of refusals; an absent member is not asked. */
export interface RefusalFilter extends TimeRange, Pick<Named, "account_id" | "key_id" | "model"> {
  readonly id?: string;
  readonly status?: number;
  readonly code?: string;
}

/** The refusals that are kept, newest first. */
export async function listRefusals(
  database: Database,
  filter: RefusalFilter,
  { after, limit }: PageRequest,
): Promise<Page<RefusalView>> {
  let query = database
    .selectFrom("refusals")
    .selectAll()
    .where(within("at_ms", filter))
    .orderBy("seq", "desc")
    .limit(limit + 1);
  if (after !== undefined) query = query.where("seq", "<", after);
  for (const field of ["id", "code", "account_id", "key_id", "model"] as const) {
    const value = filter[field];
    if (value !== undefined) query = query.where(field, "=", value);
  }
  if (filter.status !== undefined) query = query.where("status", "=", BigInt(filter.status));
  return toPage(await query.execute(), limit, (row) => ({
    id: row.id,
    at: Number(row.at_ms) / 1000,
    status: Number(row.status),
    code: row.code,
    field: row.field,
    model: row.model,
    key_id: row.key_id,
    account_id: row.account_id,
    path: row.path,
  }));
}

/** By what counts of refusals can be grouped. */
export const REFUSAL_GROUPINGS = ["code", "status", "model", "key", "none"] as const;

export const REFUSAL_INTERVALS = [...INTERVALS, "all"] as const;

/** Which counts are asked for. */
export interface RefusalCountRequest extends TimeRange {
  readonly interval: (typeof REFUSAL_INTERVALS)[number];
  readonly groupBy: (typeof REFUSAL_GROUPINGS)[number];
}

/** How many requests were refused in an interval or in all of a time; the group is null for refusals without such a name. */
export interface RefusalCountView {
  readonly time: number;
  readonly group: string | null;
  readonly count: number;
}

const COLUMNS = { code: "code", status: "status", model: "model", key: "key_id" } as const;

/**
 * Refusals counted by the interval or in all, oldest first. Ends of time count by whole hours. All of a
 * time begins with `from`, or with 1970.
 */
export async function countRefusals(
  database: Database,
  { fromMs, toMs, interval, groupBy }: RefusalCountRequest,
): Promise<readonly RefusalCountView[]> {
  const hours = {
    ...(fromMs === undefined ? {} : { fromMs: startOf(HOUR_MS, fromMs) }),
    ...(toMs === undefined ? {} : { toMs }),
  };
  const column = groupBy === "none" ? undefined : COLUMNS[groupBy];
  const time = interval === "all" ? sql<bigint>`0` : beginOfRow(interval, HOUR_MS);
  const counted = database
    .selectFrom("refusal_counts")
    .select([time.as("time_ms"), ({ fn }) => fn.sum<bigint | string>("refusals").as("refusals")])
    .where(within("time_ms", hours))
    .$if(interval !== "all", (query) => query.groupBy(time));
  // Rows are in the order of hours: those of an hour are added up first, so that fewer are sorted.
  const hourly = database
    .selectFrom("refusal_counts")
    .select(["time_ms", ({ fn }) => fn.sum<bigint | string>("refusals").as("refusals")])
    .where(within("time_ms", hours))
    .groupBy("time_ms");
  const longer = database
    .selectFrom(hourly.as("hourly"))
    .select([time.as("time_ms"), ({ fn }) => fn.sum<bigint | string>("refusals").as("refusals")])
    .groupBy(time);
  const ungrouped = interval === "day" || interval === "week" ? longer : counted;
  const rows =
    column === undefined
      ? await ungrouped.execute()
      : await counted.select(`${column} as name`).groupBy(column).execute();
  return rows
    .map((row) => ({
      time: (interval === "all" ? (fromMs ?? 0) : Number(row.time_ms)) / 1000,
      name: "name" in row ? String(row.name) : "",
      count: Number(row.refusals),
    }))
    .filter(({ count }) => count > 0)
    .toSorted((one, other) => one.time - other.time || (one.name < other.name ? -1 : 1))
    .map(({ time, name, count }) => ({ time, group: name === "" ? null : name, count }));
}

/** The 400 for a status or a code that no refusal has. */
export async function checkRefusalFilter(
  database: Database,
  { status, code }: Pick<RefusalFilter, "status" | "code">,
): Promise<void> {
  if (status !== undefined && !REFUSED_STATUSES.has(status))
    throw invalid("status", `status must be one of ${[...REFUSED_STATUSES].join(", ")}.`);
  if (code === undefined || code in ERRORS) return;
  const codes = await database
    .selectFrom("refusal_counts")
    .select("code")
    .distinct()
    .orderBy("code")
    .execute();
  const known = codes.map((row) => row.code);
  if (known.includes(code)) return;
  const there = known.length === 0 ? "No request was refused yet." : `There were ${known.join(", ")}.`;
  throw invalid("code", `No request was refused with this code. ${there}`);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
