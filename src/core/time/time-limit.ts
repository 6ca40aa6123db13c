import type { Clock, Timer } from "./clock.ts";

/** A time limit for some work, which counts only while the work itself is to answer for the time. */
export interface TimeLimit {
  /** Starts or resumes counting. */
  goOn(): void;
  /** Pauses counting. */
  rest(): void;
}

/** A limit of `ms` milliseconds; `onOver` is called once as many have counted. */
export function createTimeLimit(clock: Clock, ms: number, onOver: () => void): TimeLimit {
  let leftMs = ms;
  let going: { readonly timer: Timer; readonly sinceMs: number } | undefined;
  return {
    goOn() {
      going ??= { timer: clock.setTimer(leftMs, onOver), sinceMs: clock.steadyMs() };
    },
    rest() {
      if (going === undefined) return;
      going.timer.cancel();
      leftMs = Math.max(0, leftMs - (clock.steadyMs() - going.sinceMs));
      going = undefined;
    },
  };
}
