import { createTimerList, type Timer, type TimerList } from "./timer-list.ts";

export type { Timer };

/** Time as a parameter. Everything that waits or stamps takes one of these, so that tests can move it by hand. */
export interface Clock {
  /** Milliseconds since the Unix epoch: for times that are shown or stored. It jumps when the machine's time is set. */
  nowMs(): number;
  /**
   * Whole milliseconds since the Unix epoch at the start of the process, from then on by the monotonic clock: for
   * intervals and deadlines. Setting the machine's time does not move it.
   */
  steadyMs(): number;
  /** Calls `run` once, not before `delayMs` have passed. */
  setTimer(delayMs: number, run: () => void): Timer;
}

/** Kept, because every chunk of every stream asks for the time. */
const { timeOrigin } = performance;

/** Timers of whole seconds from here on share one of the runtime's with those that wait equally long. */
const LONG_MS = 5_000;

/** By how long they wait: the deadlines of requests, which are a few, and now and then another. */
const lists = new Map<number, TimerList>();

function addToList(delayMs: number, run: () => void): Timer {
  return (lists.get(delayMs) ?? newList(delayMs)).add(run);
}

/** Apart: a function that makes closures takes memory for them at each call, whether it makes them or not. */
function newList(delayMs: number): TimerList {
  const list = createTimerList(delayMs, {
    now: () => performance.now(),
    start: (ms, fire) => setTimeout(fire, ms),
    onIdle: () => void lists.delete(delayMs),
  });
  lists.set(delayMs, list);
  return list;
}

function shortTimer(delayMs: number, run: () => void): Timer {
  const handle = setTimeout(run, delayMs);
  return { cancel: () => clearTimeout(handle) };
}

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  steadyMs: () => Math.floor(timeOrigin + performance.now()),
  setTimer(delayMs, run) {
    return delayMs >= LONG_MS && delayMs % 1_000 === 0 ? addToList(delayMs, run) : shortTimer(delayMs, run);
  },
};

/** Milliseconds and parts of them since the process began: for durations that are shorter than `steadyMs` tells apart. */
export function systemStopwatch(): number {
  return performance.now();
}

/** Resolves after `delayMs`; rejects with the signal's reason when that comes first. */
export function wait(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const leave = (): void => {
      timer.cancel();
      reject(signal?.reason as Error);
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener("abort", leave);
      resolve();
    });
    signal?.addEventListener("abort", leave);
  });
}
