import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { createTimeLimit } from "./time-limit.ts";

test("a limit is over once so much time has counted, however often it rested", async () => {
  const clock = createFakeClock();
  let times = 0;
  const limit = createTimeLimit(clock, 100, () => (times += 1));
  await clock.advance(1_000);
  limit.goOn();
  limit.goOn();
  await clock.advance(60);
  limit.rest();
  limit.rest();
  await clock.advance(1_000);
  limit.goOn();
  await clock.advance(39);
  expect(times).toBe(0);
  await clock.advance(1);
  expect(times).toBe(1);
});

test("a limit that rests at its very end is over as soon as it goes on", async () => {
  const clock = createFakeClock();
  let times = 0;
  const limit = createTimeLimit(clock, 100, () => (times += 1));
  clock.setTimer(100, () => limit.rest());
  limit.goOn();
  await clock.advance(200);
  expect(times).toBe(0);
  limit.goOn();
  await clock.advance(0);
  expect(times).toBe(1);
});

test("a limit that rests at once has lost no time", async () => {
  const clock = createFakeClock();
  let times = 0;
  const limit = createTimeLimit(clock, 100, () => (times += 1));
  for (let i = 0; i < 50; i += 1) {
    limit.goOn();
    limit.rest();
  }
  limit.goOn();
  await clock.advance(99);
  expect(times).toBe(0);
  await clock.advance(1);
  expect(times).toBe(1);
});
