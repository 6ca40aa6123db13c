import { creditsNumber } from "../../core/money/credits.ts";
import type { Database } from "../../db/schema.ts";
import type { RequestsTable } from "../../db/schema.ts";
import type { Attempt } from "../../ledger/commands.ts";
import type { Named } from "./filters.ts";
import { accountOf } from "./views.ts";
import { type Page, type PageRequest, readCursor, toPage } from "./page.ts";
import { type TimeRange, within } from "./time-range.ts";

/** A paid request as the admin interface shows it: counts and times, never content. Times are seconds, to the millisecond. */
export interface RequestView {
  readonly id: string;
  readonly account_id: string;
  readonly key_id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly outcome: string;
  readonly credit: number;
  /** What the operator owes the provider, in credits; null where that is not known. */
  readonly cost: number | null;
  readonly price_version: string;
  /** Counts by bucket; a bucket that is absent is empty. */
  readonly usage: Readonly<Record<string, number>>;
  readonly flags: readonly string[];
  readonly attempts: readonly AttemptView[];
  readonly admitted_at: number;
  readonly held_at: number;
  readonly first_byte_at: number | null;
  readonly ended_at: number;
  readonly settled_at: number;
}

/** One call to a provider. */
export interface AttemptView {
  readonly provider: string;
  readonly upstream_id: string;
  readonly sent_at: number;
  readonly status: number | null;
}

/** A filter of requests, by when they settled; an absent member is not asked. */
export interface RequestFilter extends Named, TimeRange {
  readonly id?: string;
}

/** Paid requests, newest first. */
export async function listRequests(
  database: Database,
  filter: RequestFilter,
  { after, limit }: PageRequest,
): Promise<Page<RequestView>> {
  let query = database
    .selectFrom("requests")
    .selectAll()
    .where(within("settled_at_ms", filter))
    .orderBy("seq", "desc")
    .limit(limit + 1);
  const cursor = readCursor(after);
  if (cursor !== undefined) query = query.where("seq", "<", cursor);
  for (const field of ["id", "account_id", "key_id", "model", "provider", "outcome"] as const) {
    const value = filter[field];
    if (value !== undefined) query = query.where(field, "=", value);
  }
  const { key_id } = filter;
  // They are among those of its account, which an index finds.
  if (key_id !== undefined) query = query.where("account_id", "=", accountOf(database, key_id));
  return toPage(await query.execute(), limit, requestView);
}

type RequestRow = { readonly [Column in keyof RequestsTable]: RequestsTable[Column] } & {
  readonly seq: bigint;
};

/** A row as the admin interface shows it. */
export function requestView(row: Omit<RequestRow, "seq">): RequestView {
  return {
    id: row.id,
    account_id: row.account_id,
    key_id: row.key_id,
    model: row.model,
    provider: row.provider,
    outcome: row.outcome,
    credit: creditsNumber(row.charge),
    cost: row.cost === null ? null : creditsNumber(row.cost),
    price_version: row.price_version,
    usage: readUsage(row.usage),
    flags: JSON.parse(row.flags ?? "[]") as string[],
    attempts: (JSON.parse(row.attempts) as Attempt[]).map(({ sent_at_ms, ...attempt }) =>
      Object.assign(attempt, { sent_at: sent_at_ms / 1000 }),
    ),
    admitted_at: inSeconds(row.admitted_at_ms),
    held_at: inSeconds(row.held_at_ms),
    first_byte_at: row.first_byte_at_ms === null ? null : inSeconds(row.first_byte_at_ms),
    ended_at: inSeconds(row.ended_at_ms),
    settled_at: inSeconds(row.settled_at_ms),
  };
}

/** Counts by bucket as the store has them. */
export function readUsage(text: string | null): Readonly<Record<string, number>> {
  return JSON.parse(text ?? "{}") as Record<string, number>;
}

function inSeconds(ms: bigint): number {
  return Number(ms) / 1000;
}
