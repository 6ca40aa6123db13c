import { creditsNumber } from "../../core/money/credits.ts";
import type { Database, LedgerTable } from "../../db/schema.ts";
import { type Page, type PageRequest, readCursor, toPage } from "./page.ts";
import { within, type TimeRange } from "./time-range.ts";
import { toSeconds } from "./views.ts";

/** A movement of credit. */
export interface EntryView {
  readonly id: string;
  readonly kind: string;
  readonly amount: number;
  readonly balance_after: number;
  readonly request_id: string | null;
  readonly reason: string | null;
  readonly created_at: number;
}

/** Movements of an account's credit, or those alone that one of its keys made; oldest first. */
export async function listEntries(
  database: Database,
  accountId: string,
  range: TimeRange,
  { after, limit }: PageRequest,
  keyId?: string,
): Promise<Page<EntryView>> {
  const all = database
    .selectFrom("ledger")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("seq", ">", readCursor(after) ?? 0n)
    .where(within("created_at_ms", range))
    .orderBy("seq")
    .limit(limit + 1);
  const rows = await (keyId === undefined ? all : all.where("key_id", "=", keyId)).execute();
  return toPage(rows, limit, entryView);
}

/** An entry as the admin interface shows it. */
export function entryView(row: Omit<LedgerTable, "seq">): EntryView {
  return {
    id: row.cause,
    kind: row.kind,
    amount: creditsNumber(row.amount),
    balance_after: creditsNumber(row.balance_after),
    request_id: row.request_id,
    reason: row.reason,
    created_at: toSeconds(row.created_at_ms),
  };
}
