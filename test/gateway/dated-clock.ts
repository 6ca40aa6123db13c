import { type Clock, systemClock } from "../../src/core/time/clock.ts";

/** Noon of 21 November 2026, UTC: before prices that begin in 2027, and outside hours that have prices of their own. */
const NOON = Date.UTC(2026, 10, 21, 12);

/** The machine's timers with a date that stays the same, for charges by prices that depend on the moment. */
export function createDatedClock(): Clock {
  const startedMs = systemClock.nowMs();
  const nowMs = (): number => NOON + systemClock.nowMs() - startedMs;
  return { ...systemClock, nowMs, steadyMs: nowMs };
}
