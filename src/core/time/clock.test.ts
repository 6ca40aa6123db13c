import { afterEach, expect, setSystemTime, test } from "bun:test";
import { systemClock } from "./clock.ts";

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
