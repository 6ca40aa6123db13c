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
  /** Tasks that are not to be claimed now: those that run here, and those that were given up unasked a moment ago. */
  unclaimable(): ReadonlySet<string>;
  /** Claims a task and lets it run; tells whether another was quicker. Never rejects. */
  claim(picked: Picked): Promise<"taken" | undefined>;
  /** Lengthens every lease; false when the store did not take one. */
  renew(): Promise<boolean>;
  /** Tells the task to stop where it runs here; tells whether it does. */
  stop(taskId: string, reason: TaskStop["reason"]): boolean;
  /**
   * Gives all of it up, for others to go on with at once; resolves when that is written, or cannot be in time. What
   * `claiming` is claiming in this moment is given up like the rest.
   */
  close(claiming: Promise<void>): Promise<void>;
}

/** What a job has to stop in: to tell its provider, and to be heard of. */
const GRACE_MS = 4_000;

/** What is written at the end has so long. */
const CLOSE_MS = 8_000;

/** A task that was given up unasked is not claimed again by the same process before this time has passed. */
const REST_MS = 10_000;

/** Nothing runs at first. `onEnd` is called when a run has ended: there is room for another. */
export function createClaims(parts: Omit<RunParts, "graceMs" | "gone">, onEnd: () => void): Claims {
  const { clock, log } = parts;
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
      // From here on it can be told to stop.
      runs.set(id, run);
      let claim;
      try {
        claim = await run.claim();
      } catch (error) {
        log.error("a task could not be claimed", { task: id, error: describeError(error) });
      }
      if (claim?.ok !== true) {
        runs.delete(id);
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
