import type { Clock } from "../core/time/clock.ts";

/**
 * How often the event loop is looked at. A process that does nothing is woken for it: each look costs 15 us of CPU
 * (measured on Bun 1.4.5).
 */
const LOOK_MS = 250;

/** Tells, for as long as the process lives, how many milliseconds late the event loop was at its timers. */
export function watchLoopDelay(clock: Clock, nowMs: () => number, tell: (lateMs: number) => void): void {
  const look = (): void => {
    const dueMs = nowMs() + LOOK_MS;
    clock.setTimer(LOOK_MS, () => {
      tell(Math.max(0, nowMs() - dueMs));
      look();
    });
  };
  look();
}
