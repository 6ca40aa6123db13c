import { describeError } from "../core/log/log.ts";
import { createInterval } from "../core/time/interval.ts";
import type { FailTask } from "../ledger/task-commands.ts";
import { FAILING_COLUMNS, failTask } from "../ledger/reads/task-failing.ts";
import { CommandRefused } from "../ledger/writer.ts";
import { isLeft } from "./queue/queue-reads.ts";
import { timeoutMessage } from "./run/run-end.ts";
import type { RunParts } from "./run/run.ts";
import type { Claims } from "./claims.ts";

/** Ends tasks whose deadline has come and which no live process runs. */
export interface Sweep {
  /** Begins at once to end overdue tasks, and goes on doing so. */
  start(): void;
  /** Resolves when no work of it is under way. */
  close(): Promise<void>;
}

/** What it is made of. */
export interface SweepParts extends Pick<
  RunParts,
  "database" | "storeEngine" | "writer" | "clock" | "log" | "failpoint" | "bootId" | "endings"
> {
  /** Tasks that run here, which their runs end. */
  readonly claims: Pick<Claims, "count" | "has">;
}

/** How often the sweep looks for tasks whose deadline has come. */
const EVERY_MS = 2_000;

/** Tasks that are ended at a time. */
const MAX_TASKS = 100;

/**
 * An overdue task is ended at the epoch that was read: where another process has claimed it meanwhile, its run goes on.
 */
export function createSweep(parts: SweepParts): Sweep {
  const { writer, clock, log, failpoint, endings } = parts;
  let closed = false;

  /** A task that cannot be ended does not hold up the others. */
  const end = async (command: FailTask): Promise<boolean> => {
    const { task } = command;
    try {
      const { ok } = await writer.submit(command);
      if (ok) endings.ended(task);
      return ok;
    } catch (error) {
      if (!(error instanceof CommandRefused)) throw error;
      log.error("an overdue task could not be ended", { task, error: describeError(error) });
      return false;
    }
  };

  const sweep = async (): Promise<void> => {
    for (;;) {
      const found = await findOverdue(parts);
      if (found.length === 0 || closed) return;
      failpoint("task.sweeping");
      const ended = (await Promise.all(found.map(end))).filter(Boolean).length;
      if (ended > 0) log.info("tasks whose deadline had come were ended", { tasks: ended });
      if (found.length < MAX_TASKS || ended === 0) return;
    }
  };
  const interval = createInterval(clock, EVERY_MS, () =>
    sweep().catch((error: unknown) =>
      log.error("overdue tasks could not be ended", { error: describeError(error) }),
    ),
  );

  return {
    start: () => interval.start(0),
    close() {
      closed = true;
      return interval.close();
    },
  };
}

/** Overdue tasks to fail, the longest overdue first. */
async function findOverdue(parts: SweepParts): Promise<readonly FailTask[]> {
  const { database, storeEngine, bootId, clock, claims } = parts;
  const steadyMs = clock.steadyMs();
  const rows = await database
    .selectFrom("tasks")
    .select([...FAILING_COLUMNS, "timeout_sec"])
    .where("ended_at_ms", "is", null)
    .where("deadline_ms", "<=", BigInt(steadyMs))
    .where((task) => task.or([task("state", "=", "pending"), isLeft({ storeEngine, bootId, steadyMs })]))
    .orderBy("deadline_ms")
    // Tasks that run here may stand before all that no process runs.
    .limit(MAX_TASKS + claims.count())
    .execute();
  return rows
    .filter(({ id }) => !claims.has(id))
    .slice(0, MAX_TASKS)
    .map((row) =>
      failTask(row, {
        type: "timeout_error",
        message: timeoutMessage(Number(row.timeout_sec)),
        nowMs: clock.nowMs(),
      }),
    );
}
