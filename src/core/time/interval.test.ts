import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { createInterval } from "./interval.ts";

test("work is repeated an interval after it has ended, or after as long as it says", async () => {
  const clock = createFakeClock();
  const began: number[] = [];
  const startMs = clock.steadyMs();
  const waits = [undefined, 3, 0];
  const interval = createInterval(clock, 10, async () => {
    began.push(clock.steadyMs() - startMs);
    return waits.shift();
  });
  interval.start();
  await clock.advance(9);
  expect(began).toEqual([]);
  await clock.advance(31);
  expect(began).toEqual([10, 20, 23, 23, 33]);
  await interval.close();
  expect(clock.timers()).toBe(0);
});

test("work begins for the first time when it is said", async () => {
  const clock = createFakeClock();
  let runs = 0;
  const interval = createInterval(clock, 10, async () => void (runs += 1));
  interval.start(0);
  await clock.advance(0);
  expect(runs).toBe(1);
  await interval.close();
});

test("a close waits for the work under way, after which none begins", async () => {
  const clock = createFakeClock();
  const { promise, resolve } = Promise.withResolvers<void>();
  const interval = createInterval(clock, 10, () => promise);
  interval.start();
  await clock.advance(10);
  let isClosed = false;
  const closing = interval.close().then(() => (isClosed = true));
  await clock.advance(10);
  expect(isClosed).toBe(false);
  resolve();
  await closing;
  expect(clock.timers()).toBe(0);
});
