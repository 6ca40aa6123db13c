import { present } from "../../core/json/json-value.ts";
import { creditsNumber } from "../../core/money/credits.ts";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import type { RequestsTable } from "../../db/schema.ts";
import type { Attempt } from "../../ledger/commands.ts";
import { findRequests, requestOf } from "../../ledger/usage/find-requests.ts";
import type { Named } from "./filters.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
import type { TimeRange } from "./time-range.ts";

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
  /** What the provider calls the model; null where the reader may not know. */
  readonly upstream_id: string | null;
  readonly sent_at: number;
  readonly status: number | null;
}

/** A filter of requests, by when they settled; an absent member is not asked. */
export interface RequestFilter extends Named, TimeRange {
  readonly id?: string;
}

/** Paid requests, newest first. What is the operator's alone may be left out. */
export async function listRequests(
  database: Database,
  engine: Engine,
  {
    filter,
    page: { after, limit },
    isOwner,
  }: { readonly filter: RequestFilter; readonly page: PageRequest; readonly isOwner: boolean },
): Promise<Page<RequestView>> {
  const { id, account_id: account, key_id: key, fromMs, toMs, ...names } = filter;
  const wanted = {
    filter: { ...names, ...present({ account, key }) },
    ...present({ fromMs, toMs, before: after }),
  };
  const rows =
    id === undefined
      ? await findRequests(database, engine, wanted, limit + 1)
      : await requestOf(database, wanted, id);
  return toPage(rows, limit, (row) => {
    const view = requestView(row);
    return isOwner ? forOwner(view) : view;
  });
}

/**
 * A request as the holder of its key may see it. It lacks what the operator owes for it, and which model of a provider
 * stands behind the one that was asked for.
 */
export function forOwner<View extends RequestView>(view: View): View {
  const attempts = view.attempts.map((attempt) => ({ ...attempt, upstream_id: null }));
  return { ...view, cost: null, attempts };
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
