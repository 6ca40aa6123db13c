import type { Clock, Timer } from "./clock.ts";

/** So much time for some work, in which only what the work is to answer for is counted. */
export interface TimeLimit {
  /** From here on time counts; it does not before this is called first. */
  goOn(): void;
  /** From here on it does not. */
  rest(): void;
}

/** A limit of `ms` milliseconds; `onOver` is called once so many have counted. */
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
