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

test("a signal ends the pause, and `onFailure` may give up by throwing", async () => {
  const clock = createFakeClock();
  const stop = new AbortController();
  const failing = () => Promise.reject(new Error("not now"));
  const stopped = insist(failing, { clock, pauseMs: 1_000, signal: stop.signal });
  await clock.advance(0);
  stop.abort(new Error("enough"));
  expect(await stopped.catch(String)).toBe("Error: enough");

  const failures: unknown[] = [];
  const given = insist(failing, {
    clock,
    pauseMs: 1_000,
    onFailure: (error) => {
      if (failures.push(error) === 2) throw error;
    },
  });
  await clock.advance(0);
  expect(failures).toHaveLength(1);
  void clock.advance(1_000);
  expect(await given.catch(String)).toBe("Error: not now");
  expect(failures).toHaveLength(2);
});

test("no work is done once the signal is aborted", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  let tries = 0;
  const done = insist(async () => (tries += 1), { clock: createFakeClock(), pauseMs: 1_000, signal });
  expect(await done.catch(String)).toBe("Error: enough");
  expect(tries).toBe(0);
});
