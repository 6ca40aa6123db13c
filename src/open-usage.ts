import type { Log } from "./core/log/log.ts";
import type { Clock } from "./core/time/clock.ts";
import type { Database } from "./db/schema.ts";
import { type AdminThread, openAdminThread } from "./gateway/admin/thread/admin-thread.ts";
import type { ThreadPlace } from "./gateway/admin/thread/messages.ts";
import { createRefusals, type Refusals } from "./gateway/refusals.ts";
import { createUsageRollUps } from "./gateway/usage-roll-ups.ts";
import { ROUTES } from "./http/routes.ts";
import { readWaiting } from "./ledger/usage/waiting.ts";

/** The thread of the admin interface, and what it keeps: usage and refusals. */
export interface OpenUsage {
  readonly thread: AdminThread;
  readonly refusals: Refusals;
  close(): Promise<void>;
}

/** What it is opened with. */
export interface OpenUsageParts {
  readonly place: ThreadPlace;
  /** Reads of this thread. */
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens the thread, which starts with its first work, and begins to keep usage and refusals. */
export function openUsage({ place, database, clock, log }: OpenUsageParts): OpenUsage {
  const thread = openAdminThread(place);
  const paid = ROUTES.filter(({ access }) => access === "key").map(({ path }) => path);
  const refusals = createRefusals({
    endpoints: new Set(paid),
    write: (gathered) => thread.writeRefusals(gathered),
    clock,
    log,
  });
  const rollUps = createUsageRollUps({
    // Days change by roll-ups alone, and each looks whether thirty of them are to be added up.
    waiting: () => readWaiting(database),
    rollUp: () => thread.rollUp(),
    clock,
    log,
  });
  refusals.start();
  rollUps.start();
  return {
    thread,
    refusals,
    async close() {
      await rollUps.close();
      await refusals.close();
      thread.close();
    },
  };
}
