import type { Database } from "./schema.ts";

/** Reads that see the store as it was at one moment; SQLite has no other reads in a transaction. */
export function atOneMoment<Read>(
  database: Database,
  read: (snapshot: Database) => Promise<Read>,
): Promise<Read> {
  return database.transaction().setIsolationLevel("repeatable read").execute(read);
}
