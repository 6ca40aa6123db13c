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
