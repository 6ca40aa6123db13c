import type { Timer } from "../core/time/clock.ts";
import { describeError } from "../core/log/log.ts";
import type { Picked } from "./queue/queue.ts";
import type { TaskStop } from "./run/job.ts";
import { createRun, type Run, type RunParts } from "./run/run.ts";

/** The tasks that this process has claimed. */
export interface Claims {
  /** How many there are. */
  count(): number;
  has(taskId: string): boolean;
  /** Tasks that must not be claimed now: those that run here, and those that a run has just released unasked. */
  unclaimable(): ReadonlySet<string>;
  /** Claims a task and runs it; `taken` where another process was faster. Never rejects. */
  claim(picked: Picked): Promise<"taken" | undefined>;
  /** Renews every lease; false when the store did not take one. */
  renew(): Promise<boolean>;
  /** Tells the task's run to stop; false where it does not run here. */
  stop(taskId: string, reason: TaskStop["reason"]): boolean;
  /**
   * Releases all tasks for other processes; resolves when that is written, or when it takes too long. A task that
   * `claiming` is just claiming is released too.
   */
  close(claiming: Promise<void>): Promise<void>;
}

/** Time for a job to stop: to tell its provider, and to be noted. */
const GRACE_MS = 4_000;

/** Time limit of the writes at the end. */
const CLOSE_MS = 8_000;

/** A task that a run released unasked is not claimed again by the same process before this time has passed. */
const REST_MS = 10_000;

/** Claims of this process; none at first. `onEnd` is called when a run has ended and left room for another. */
export function createClaims(parts: Omit<RunParts, "graceMs" | "gone">, onEnd: () => void): Claims {
  const { writer, clock, log, endings } = parts;
  const gone = new AbortController();
  const runParts: RunParts = { ...parts, graceMs: GRACE_MS, gone: gone.signal };
  const runs = new Map<string, Run>();
  const unended = new Set<Promise<void>>();
  const resting = new Map<string, number>();

  const runToEnd = async (id: string, run: Run): Promise<void> => {
    const end = await run.toEnd();
    runs.delete(id);
    if (end === "released") resting.set(id, clock.steadyMs() + REST_MS);
    onEnd();
  };

  /** A task that was pending when its account was closed, and that nobody has cancelled since. */
  const cancel = async ({ task: { id, accountId, keyId, holdId } }: Picked): Promise<void> => {
    const command = { kind: "cancel", task: id, account: accountId, key: keyId, hold: holdId } as const;
    try {
      const { ok } = await writer.submit({ ...command, nowMs: clock.nowMs() });
      if (ok) endings.ended(id);
    } catch (error) {
      log.error("a task of a closed account could not be cancelled", {
        task: id,
        error: describeError(error),
      });
    }
  };

  return {
    count: () => runs.size,
    has: (taskId) => runs.has(taskId),

    stop(taskId, reason) {
      runs.get(taskId)?.stop(reason);
      return runs.has(taskId);
    },

    unclaimable() {
      const nowMs = clock.steadyMs();
      for (const [id, untilMs] of resting) if (untilMs <= nowMs) resting.delete(id);
      return new Set([...runs.keys(), ...resting.keys()]);
    },

    async claim(picked) {
      const { id } = picked.task;
      const run = createRun(runParts, picked);
      // From here on `stop` finds it.
      runs.set(id, run);
      let claim;
      try {
        claim = await run.claim();
      } catch (error) {
        log.error("a task could not be claimed", { task: id, error: describeError(error) });
      }
      if (claim?.ok !== true) {
        runs.delete(id);
        if (claim?.reason === "closed") await cancel(picked);
        return claim?.reason === "taken" ? "taken" : undefined;
      }
      const running = runToEnd(id, run);
      unended.add(running);
      void running.then(() => unended.delete(running));
      return undefined;
    },

    async renew() {
      const taken = await Promise.all([...runs.values()].map((run) => run.renew()));
      return taken.every(Boolean);
    },

    async close(claiming) {
      for (const run of runs.values()) run.stop("shutdown");
      let timer: Timer | undefined;
      const late = new Promise<void>((resolve) => (timer = clock.setTimer(CLOSE_MS, resolve)));
      await Promise.race([claiming.then(() => Promise.all(unended)), late]);
      timer?.cancel();
      gone.abort();
    },
  };
}
