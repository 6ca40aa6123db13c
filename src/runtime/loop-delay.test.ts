import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { watchLoopDelay } from "./loop-delay.ts";

test("each timer that comes late tells by how much, and one that comes early tells nothing", async () => {
  const clock = createFakeClock();
  let aheadMs = 0;
  const told: number[] = [];
  watchLoopDelay(
    clock,
    () => clock.steadyMs() + aheadMs,
    (lateMs) => told.push(lateMs),
  );
  await clock.advance(249);
  expect(told).toEqual([]);
  aheadMs = 0.25;
  await clock.advance(1);
  aheadMs += 40;
  await clock.advance(250);
  aheadMs -= 1;
  await clock.advance(250);
  expect(told).toEqual([0.25, 40, 0]);
  expect(clock.timers()).toBe(1);
});
