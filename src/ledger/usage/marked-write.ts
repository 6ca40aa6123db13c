import { type Failpoint, noFailpoint } from "../../core/failpoint.ts";
import type { Database } from "../../db/schema.ts";

/** What follows from rows that were read with a mark, and is written only where the mark is still as it was. */
export interface MarkedWrite {
  /** A connection of its own that may write. */
  readonly database: Database;
  readonly failpoint?: Failpoint | undefined;
  /** Moves the mark from where it was read; gives no row where it is elsewhere by now. */
  readonly move: (tx: Database) => Promise<readonly unknown[]>;
  readonly write: (tx: Database) => Promise<unknown>;
}

/** Moves the mark and writes in one transaction, or does neither: another process has done the work then. */
export async function writeMarked({
  database,
  failpoint = noFailpoint,
  move,
  write,
}: MarkedWrite): Promise<void> {
  failpoint("usage.before_mark");
  await database.transaction().execute(async (tx) => {
    // It takes the lock of the mark, and with it an embedded store's lock for writing.
    const moved = await move(tx);
    if (moved.length === 0) return;
    failpoint("usage.before_rollups");
    await write(tx);
    failpoint("usage.before_commit");
  });
  failpoint("usage.after_commit");
}
