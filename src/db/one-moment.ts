import type { Engine } from "./engine.ts";
import type { Database } from "./schema.ts";

/** Reads that see the store as it was at one moment. */
export function atOneMoment<Read>(
  database: Database,
  engine: Engine,
  read: (snapshot: Database) => Promise<Read>,
): Promise<Read> {
  const transaction = database.transaction();
  return (engine === "postgres" ? transaction.setIsolationLevel("repeatable read") : transaction).execute(
    read,
  );
}
