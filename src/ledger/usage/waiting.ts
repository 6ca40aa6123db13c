import { sql } from "kysely";
import type { Database } from "../../db/schema.ts";

/** How many requests and entries are not counted yet. On PostgreSQL numbers have gaps: it may be more than there are. */
export async function readWaiting(database: Database): Promise<number> {
  const { rows } = await sql<{ readonly requests: bigint; readonly entries: bigint }>`
    select coalesce((select max(seq) from requests), 0) - (select request_seq from usage_mark) as requests,
      coalesce((select max(seq) from ledger), 0) - (select seq from ledger_mark) as entries`.execute(
    database,
  );
  const { requests = 0n, entries = 0n } = rows[0] ?? {};
  return Number(requests) + Number(entries);
}
