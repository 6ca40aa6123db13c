import { type Clock, systemClock } from "../../src/core/time/clock.ts";

/** The machine's clock, on which so much time passes for each that passes; noon of 21 November 2026, UTC, at first. */
export function createFastClock(times: number): Clock {
  const startedMs = systemClock.nowMs();
  const noon = Date.UTC(2026, 10, 21, 12);
  const nowMs = (): number => noon + Math.floor((systemClock.nowMs() - startedMs) * times);
  return {
    nowMs,
    steadyMs: nowMs,
    setTimer: (delayMs, run) => systemClock.setTimer(delayMs / times, run),
  };
}
