import { afterEach, describe, expect, setSystemTime, spyOn, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { systemClock, wait } from "./clock.ts";

afterEach(() => void setSystemTime());

test("the steady time of the system begins at the time of day, in whole milliseconds, and does not jump with it", () => {
  expect(Math.abs(systemClock.steadyMs() - systemClock.nowMs())).toBeLessThan(60_000);
  const before = systemClock.steadyMs();
  expect(Number.isInteger(before)).toBe(true);
  setSystemTime(systemClock.nowMs() + 86_400_000);
  expect(systemClock.nowMs() - before).toBeGreaterThan(86_000_000);
  const after = systemClock.steadyMs();
  expect(after).toBeGreaterThanOrEqual(before);
  expect(after - before).toBeLessThan(60_000);
});

test("the steady time of the system goes on", () => {
  const before = systemClock.steadyMs();
  const start = performance.now();
  while (performance.now() < start + 2);
  expect(systemClock.steadyMs()).toBeGreaterThan(before);
});

test("timers that wait equally many whole seconds, five or more, share one of the runtime's", () => {
  const started = spyOn(globalThis, "setTimeout");
  /** How many of the runtime's timers a second and a third one take. */
  const more = (delayMs: number): number => {
    const first = systemClock.setTimer(delayMs, () => {});
    started.mockClear();
    const others = [1, 2].map(() => systemClock.setTimer(delayMs, () => {}));
    for (const timer of [first, ...others]) timer.cancel();
    return started.mock.calls.length;
  };
  try {
    expect([5_000, 6_000, 60_000].map(more)).toEqual([0, 0, 0]);
    expect([1_000, 4_000, 5_500, 6_001].map(more)).toEqual([2, 2, 2, 2]);
  } finally {
    started.mockRestore();
  }
});

describe("a wait", () => {
  test("lasts as long as it should, and leaves nothing at the signal", async () => {
    const clock = createFakeClock();
    const signal = countingSignal();
    let isOver = false;
    const waiting = wait(clock, 10, signal).then(() => (isOver = true));
    await clock.advance(9);
    expect([isOver, signal.listeners()]).toEqual([false, 1]);
    await clock.advance(1);
    await waiting;
    expect([isOver, signal.listeners(), clock.timers()]).toEqual([true, 0, 0]);
  });

  test("ends with the signal's reason, and leaves no timer", async () => {
    const clock = createFakeClock();
    const leave = new AbortController();
    const waiting = wait(clock, 10, leave.signal);
    expect(clock.timers()).toBe(1);
    leave.abort(new Error("gone"));
    expect(await waiting.catch(String)).toBe("Error: gone");
    expect(clock.timers()).toBe(0);
  });

  test("does not begin where the signal is aborted", async () => {
    const clock = createFakeClock();
    expect(await wait(clock, 10, AbortSignal.abort(new Error("gone"))).catch(String)).toBe("Error: gone");
    expect(clock.timers()).toBe(0);
  });
});

/** A signal that is never aborted and counts who listens. */
function countingSignal(): AbortSignal & { listeners(): number } {
  const { signal } = new AbortController();
  const listeners = new Set<unknown>();
  return Object.assign(signal, {
    addEventListener: (type: string, listener: unknown) => void listeners.add(`${type} ${String(listener)}`),
    removeEventListener: (type: string, listener: unknown) =>
      void listeners.delete(`${type} ${String(listener)}`),
    listeners: () => listeners.size,
  });
}
