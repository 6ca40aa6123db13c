import type { Clock, Timer } from "../../src/core/time/clock.ts";

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Sets the machine's time forward, or back below 0, without any time passing. */
  jump(ms: number): void;
  /** Moves time on and fires what falls due, in order, letting promises settle between. */
  advance(ms: number): Promise<void>;
  /** How many timers are pending. */
  timers(): number;
}

interface Pending {
  readonly dueMs: number;
  readonly run: () => void;
}

/** A clock that shows `startMs` at first. */
export function createFakeClock(startMs = Date.UTC(2026, 10, 21, 12)): FakeClock {
  let nowMs = startMs;
  let jumpedMs = 0;
  const pending = new Set<Pending>();
  return {
    nowMs: () => nowMs + jumpedMs,
    steadyMs: () => nowMs,
    jump: (ms) => void (jumpedMs += ms),
    setTimer(delayMs, run): Timer {
      const entry: Pending = { dueMs: nowMs + delayMs, run };
      pending.add(entry);
      return { cancel: () => pending.delete(entry) };
    },
    async advance(ms) {
      const untilMs = nowMs + ms;
      for (;;) {
        const due = [...pending]
          .filter((entry) => entry.dueMs <= untilMs)
          .toSorted((a, b) => a.dueMs - b.dueMs)[0];
        if (due === undefined) break;
        nowMs = Math.max(nowMs, due.dueMs);
        pending.delete(due);
        due.run();
        await settle();
      }
      nowMs = untilMs;
      await settle();
    },
    timers: () => pending.size,
  };
}

/** Lets everything run that does not wait for time: promises, sockets of this machine, the ledger's thread. */
async function settle(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
}
