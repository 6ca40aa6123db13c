import type { Clock } from "../../core/time/clock.ts";
import type { Hold } from "../../core/money/hold.ts";
import { insist } from "../../core/time/insist.ts";
import type { TaskAttempts } from "../../core/task.ts";
import type { Database } from "../../db/schema.ts";
import { readTaskHold } from "../../ledger/reads/task-hold.ts";
import type { Cipher } from "../../runtime/cipher.ts";
import type { RequestCache } from "../request-cache.ts";

/** What a run needs to know of its task. */
export interface ClaimedTask extends TaskAttempts {
  readonly hold: Hold;
  /** The provider's name for the job, where an earlier run got that far. */
  readonly job: string | null;
  /** The request, as it was submitted. */
  readonly payload: unknown;
}

/** What a claimed task is read with. */
export interface ClaimedTaskParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly cipher: Cipher;
  readonly requests: RequestCache;
}

/** How long the store is left alone before it is asked again. */
const RETRY_MS = 1_000;

/**
 * Reads a claimed task, however long the store is away. It must be read after the claim, since until then another
 * process may have gone on with it. Rejects with the signal's reason once that is aborted.
 */
export async function readClaimed(
  parts: ClaimedTaskParts,
  task: string,
  signal: AbortSignal,
): Promise<ClaimedTask> {
  const { database, requests, cipher } = parts;
  const untilRead = <Read>(read: () => Promise<Read>): Promise<Read> =>
    insist(read, { clock: parts.clock, pauseMs: RETRY_MS, signal });
  const [row, hold] = await untilRead(() =>
    Promise.all([
      database
        .selectFrom("tasks")
        .select(["job", "attempts", "refusals"])
        .where("id", "=", task)
        .executeTakeFirst(),
      readTaskHold(database, task),
    ]),
  );
  if (row === undefined || hold === undefined) throw new Error(NOT_RUNNING);
  const { job, attempts, refusals } = row;
  const read = { job, attempts: Number(attempts), refusals: Number(refusals), hold };
  const kept = requests.take(task);
  if (kept !== undefined) return { ...read, payload: kept.payload };
  // Another process has submitted the task, or this one before its last start.
  const copy = await untilRead(() =>
    database.selectFrom("task_payloads").select("sealed").where("task_id", "=", task).executeTakeFirst(),
  );
  // The copy is deleted when the task ends.
  if (copy === undefined) throw new Error(NOT_RUNNING);
  return { ...read, payload: JSON.parse(await cipher.open(copy.sealed)) as unknown };
}

const NOT_RUNNING = "The task is not in the store as one that runs.";
