import type { Assets } from "../assets/assets.ts";
import type { Timer } from "../core/clock.ts";
import { describeError } from "../core/log.ts";
import { createOverdue } from "./overdue.ts";
import { createQueue, type Picked, type ProviderOf } from "./queue.ts";
import { createRetention } from "./retention.ts";
import type { RunParts } from "./run-parts.ts";
import { createRounds, oneAtATime } from "./rounds.ts";
import { createRun, type Run } from "./run.ts";
import type { TaskStop } from "./runner.ts";

/** Runs tasks: takes them fairly, keeps them, ends them, and ends those that nobody would. */
export interface Engine {
  /** Ends what is overdue, takes over what dead processes left behind where that is known at once, and goes on. */
  start(): Promise<void>;
  /** Something may be there to be taken, or will be when so much time has passed. */
  wake(inMs?: number): void;
  /** Stops the task where it runs in this process. */
  stop(taskId: string, reason: TaskStop["reason"]): void;
  /** From here on nothing is taken; what runs goes on. */
  drain(): void;
  /** Gives up what runs, for others to go on with at once; resolves when all of it is written, or cannot be in time. */
  close(): Promise<void>;
}

/** What the engine is made of. */
export interface EngineParts extends Omit<RunParts, "graceMs" | "gone"> {
  readonly assets: Pick<Assets, "remove" | "sweep">;
  readonly providerOf: ProviderOf;
}

/** How often the queue is looked at for what other processes have put there or left behind. */
const LOOK_MS = { sqlite: 5_000, postgres: 1_000 } as const;

/** A store that did not take a lease is asked again so soon. */
const RETRY_MS = 1_000;

/** What a runner has to stop in: to tell its provider, and to be heard of. */
const GRACE_MS = 4_000;

/** What is written at the end has so long. */
const CLOSE_MS = 8_000;

/** A task that was given up unasked is not taken again by the same process before this time has passed. */
const REST_MS = 10_000;

/** Looks in a row that others were quicker in: then the next one has to wait. */
const MAX_RACES = 5;

/** The engine over the store. */
export function createEngine(parts: EngineParts): Engine {
  const { clock, log, settings, storeEngine, database, bootId, providerOf } = parts;
  const gone = new AbortController();
  const runParts: RunParts = { ...parts, graceMs: GRACE_MS, gone: gone.signal };
  const queue = createQueue({ database, storeEngine, bootId, providerOf, nowMs: () => clock.nowMs() });
  const runs = new Map<string, Run>();
  const working = new Set<Promise<void>>();
  const resting = new Map<string, number>();
  let isDraining = false;

  const isRunning = (taskId: string): boolean => runs.has(taskId);
  const overdue = createOverdue({ ...parts, isRunning });
  const retention = createRetention(parts);

  /** Claims a task and lets it run; tells whether another was quicker. */
  const take = async (picked: Picked): Promise<"taken" | undefined> => {
    const { id } = picked.task;
    const run = createRun(runParts, picked);
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
    const work = run.work().then((end) => {
      runs.delete(id);
      if (end === "released") resting.set(id, clock.nowMs() + REST_MS);
      wake();
    });
    working.add(work);
    void work.then(() => working.delete(work));
    return undefined;
  };

  const skipped = (): ReadonlySet<string> => {
    const nowMs = clock.nowMs();
    for (const [id, untilMs] of resting) if (untilMs <= nowMs) resting.delete(id);
    return new Set([...runs.keys(), ...resting.keys()]);
  };

  const look = async (): Promise<void> => {
    for (let races = 0; races < MAX_RACES && !isDraining; races += 1) {
      const room = settings().runningPerProcess - runs.size;
      if (room <= 0) return;
      const orphans = await queue.orphans(room, skipped());
      const pending = await queue.pending(room - orphans.length, skipped());
      if (isDraining) return;
      const answers = await Promise.all([...orphans, ...pending].map(take));
      if (!answers.includes("taken")) return;
    }
  };
  const looking = oneAtATime(look, (error) =>
    log.error("the queue of tasks could not be read", { error: describeError(error) }),
  );
  const wake = (inMs = 0): void => {
    if (isDraining) return;
    if (inMs > 0) clock.setTimer(inMs, wake);
    else void looking();
  };

  const renew = async (): Promise<number | undefined> => {
    const taken = await Promise.all([...runs.values()].map((run) => run.renew()));
    return taken.every(Boolean) ? settings().leaseMs / 3 : RETRY_MS;
  };
  const rounds = [
    createRounds(clock, LOOK_MS[storeEngine], looking),
    createRounds(clock, settings().leaseMs / 3, renew),
  ];

  return {
    wake,
    stop: (taskId, reason) => runs.get(taskId)?.stop(reason),
    drain: () => void (isDraining = true),

    async start() {
      await overdue.start();
      await looking();
      for (const each of rounds) each.start();
      retention.start();
    },

    async close() {
      isDraining = true;
      for (const run of runs.values()) run.stop("shutdown");
      let timer: Timer | undefined;
      const late = new Promise<void>((resolve) => (timer = clock.setTimer(CLOSE_MS, resolve)));
      await Promise.race([Promise.all(working), late]);
      timer?.cancel();
      gone.abort();
      await Promise.all([overdue, retention, ...rounds].map((each) => each.close()));
    },
  };
}
