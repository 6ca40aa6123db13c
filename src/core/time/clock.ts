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

/** A pending timer; cancelling one that has fired does nothing. */
export interface Timer {
  cancel(): void;
}

/** Kept, because every chunk of every stream asks for the time. */
const { timeOrigin } = performance;

/** The clock of the machine. */
export const systemClock: Clock = {
  nowMs: () => Date.now(),
  steadyMs: () => Math.floor(timeOrigin + performance.now()),
  setTimer(delayMs, run) {
    const handle = setTimeout(run, delayMs);
    return { cancel: () => clearTimeout(handle) };
  },
};

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
