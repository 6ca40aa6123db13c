import type { Assets } from "../assets/assets.ts";
import { describeError } from "../core/log/log.ts";
import { createInterval } from "../core/time/interval.ts";
import { createQueue, type ProviderOf } from "./queue/queue.ts";
import { createRetention } from "./retention.ts";
import { createClaims } from "./claims.ts";
import type { TaskStop } from "./run/job.ts";
import type { RunParts } from "./run/run.ts";
import { createSweep } from "./sweep.ts";

/** Runs tasks: claims them fairly, renews their leases, ends them, and sweeps those whose deadline has come. */
export interface Scheduler {
  /**
   * Claims pending tasks, and at once those of dead processes where it is known that they are dead; goes on doing so.
   * Overdue tasks are ended meanwhile.
   */
  start(): Promise<void>;
  /** There may be a task to claim, now or in `inMs`. */
  wake(inMs?: number): void;
  /** Tells the task's run to stop; false where it does not run here. */
  stop(taskId: string, reason: TaskStop["reason"]): boolean;
  /** Claims nothing from here on; runs go on. */
  drain(): void;
  /** Releases running tasks for other processes; resolves when that is written, or when it takes too long. */
  close(): Promise<void>;
}

/** What the scheduler is made of. */
export interface SchedulerParts extends Omit<RunParts, "graceMs" | "gone" | "leaseMs"> {
  readonly assets: Pick<Assets, "remove" | "sweep">;
  readonly providerOf: ProviderOf;
}

/** How often it looks for tasks that other processes have queued or left behind. */
const LOOK_MS = { sqlite: 5_000, postgres: 1_000 } as const;

/** Pause before a lease that the store did not take is renewed again. */
const RETRY_MS = 1_000;

/** Retries after losing a claim race. */
const MAX_RACES = 5;

/** A scheduler over the store; it stands still until it is started. */
export function createScheduler(parts: SchedulerParts): Scheduler {
  const { clock, log, settings, storeEngine, database, bootId, providerOf } = parts;
  let isClaiming = false;
  let closing: Promise<void> | undefined;
  const wake = (inMs = 0): void => {
    if (!isClaiming) return;
    if (inMs > 0) clock.setTimer(inMs, wake);
    else void looking();
  };
  // The lease of the start: a shorter one would run out before its renewal is due.
  const { leaseMs } = settings();
  const claims = createClaims({ ...parts, leaseMs }, wake);
  const queue = createQueue({ database, storeEngine, bootId, providerOf, steadyMs: () => clock.steadyMs() });
  const sweep = createSweep({ ...parts, claims });
  const retention = createRetention(parts);

  const look = async (): Promise<void> => {
    for (let races = 0; races < MAX_RACES && isClaiming; races += 1) {
      const room = settings().runningPerProcess - claims.count();
      if (room <= 0) return;
      const orphans = await queue.orphans(room, claims.unclaimable());
      const pending = await queue.pending(room - orphans.length, claims.unclaimable());
      if (!isClaiming) return;
      const answers = await Promise.all([...orphans, ...pending].map(claims.claim));
      if (!answers.includes("taken")) return;
    }
  };
  const looking = oneAtATime(look, (error) =>
    log.error("the queue of tasks could not be read", { error: describeError(error) }),
  );
  const renew = async (): Promise<number> => ((await claims.renew()) ? leaseMs / 3 : RETRY_MS);
  const intervals = [
    createInterval(clock, LOOK_MS[storeEngine], looking),
    createInterval(clock, leaseMs / 3, renew),
  ];

  const close = async (): Promise<void> => {
    isClaiming = false;
    await claims.close(looking());
    await Promise.all([sweep, retention, ...intervals].map((each) => each.close()));
  };

  return {
    wake,
    stop: claims.stop,
    drain: () => void (isClaiming = false),
    close: () => (closing ??= close()),
    async start() {
      sweep.start();
      isClaiming = true;
      await looking();
      for (const each of intervals) each.start();
      retention.start();
    },
  };
}

/**
 * `work`, never twice at a time: a call while it is under way has it done once more after that. Its errors go to
 * `onError`.
 */
function oneAtATime(work: () => Promise<void>, onError: (error: unknown) => void): () => Promise<void> {
  let current: Promise<void> | undefined;
  let again = false;

  const run = async (): Promise<void> => {
    do {
      again = false;
      await work().catch(onError);
    } while (again);
    current = undefined;
  };

  return () => {
    if (current === undefined) return (current = run());
    again = true;
    return current;
  };
}
