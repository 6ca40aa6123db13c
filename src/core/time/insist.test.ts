import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { insist } from "./insist.ts";

test("work is done again after each failure and a pause, and no more once it succeeded", async () => {
  const clock = createFakeClock();
  let tries = 0;
  const done = insist(
    async () => {
      tries += 1;
      if (tries < 3) throw new Error("not now");
      return `done at try ${tries}`;
    },
    { clock, pauseMs: 1_000 },
  );
  await clock.advance(0);
  await clock.advance(999);
  expect(tries).toBe(1);
  await clock.advance(1);
  expect(tries).toBe(2);
  await clock.advance(5_000);
  expect(await done).toBe("done at try 3");
  expect(tries).toBe(3);
});
