import type { Clock, Timer } from "./clock.ts";

/** Work that is repeated. */
export interface Interval {
  /** Begins the work for the first time after `firstInMs`; absent: after one interval. */
  start(firstInMs?: number): void;
  /** Begins it no more; resolves when the work under way has ended. */
  close(): Promise<void>;
}

/** Repeats work, which never rejects: `everyMs` after it has ended, or as many milliseconds as it resolves with. */
export function createInterval(
  clock: Clock,
  everyMs: number,
  work: () => Promise<number | undefined | void>,
): Interval {
  let timer: Timer | undefined;
  let closed = false;
  let current: Promise<void> = Promise.resolve();

  const next = (delayMs: number): void => {
    if (!closed) timer = clock.setTimer(delayMs, () => void (current = run()));
  };

  const run = async (): Promise<void> => next((await work()) ?? everyMs);

  return {
    start: (firstInMs = everyMs) => next(firstInMs),
    async close() {
      closed = true;
      timer?.cancel();
      await current;
    },
  };
}
