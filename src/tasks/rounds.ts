import type { Clock, Timer } from "../core/time/clock.ts";

/** Work that is done again and again. */
export interface Rounds {
  /** The first round begins after `firstInMs`; absent: when the time between two has passed. */
  start(firstInMs?: number): void;
  /** No further round begins; resolves when the one under way has ended. */
  close(): Promise<void>;
}

/** Rounds of which each begins `everyMs` after the one before has ended, or so long after as that one says. */
export function createRounds(
  clock: Clock,
  everyMs: number,
  round: () => Promise<number | undefined | void>,
): Rounds {
  let timer: Timer | undefined;
  let closed = false;
  let current: Promise<void> = Promise.resolve();

  const next = (delayMs: number): void => {
    if (!closed) timer = clock.setTimer(delayMs, () => void (current = turn()));
  };

  const turn = async (): Promise<void> => next((await round()) ?? everyMs);

  return {
    start: (firstInMs = everyMs) => next(firstInMs),
    async close() {
      closed = true;
      timer?.cancel();
      await current;
    },
  };
}

/**
 * `round`, never twice at a time: who calls for one while it is under way is given another after it. What it rejects
 * with goes to `onError`.
 */
export function oneAtATime(
  round: () => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let current: Promise<void> | undefined;
  let again = false;

  const go = async (): Promise<void> => {
    do {
      again = false;
      await round().catch(onError);
    } while (again);
    current = undefined;
  };

  return () => {
    if (current === undefined) return (current = go());
    again = true;
    return current;
  };
}
