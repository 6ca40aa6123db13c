import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { type Breathe, createWarmUp } from "./warm-up.ts";

/** A warming of rounds that take `steps` milliseconds of the clock, and breathe after each. */
function warm({ steps = 1 } = {}) {
  const clock = createFakeClock();
  const startMs = clock.steadyMs();
  const seen = { rounds: 0, steps: 0, turns: [] as number[] };
  let elapsedMs = 0;
  const own = { ...clock, steadyMs: () => clock.steadyMs() + elapsedMs };
  const warming = createWarmUp({
    clock: own,
    open: (breathe: Breathe) =>
      Promise.resolve(async () => {
        seen.rounds += 1;
        for (let i = 0; i < steps; i += 1) {
          seen.steps += 1;
          elapsedMs += 1;
          const before = clock.steadyMs();
          await breathe();
          if (clock.steadyMs() !== before) seen.turns.push(seen.steps);
        }
      }),
  });
  let hasEnded = false;
  void warming.run().then(() => (hasEnded = true));
  return { clock, warming, seen, startMs, hasEnded: () => hasEnded };
}

test("a warming begins after a while, runs its rounds, and ends", async () => {
  const { clock, seen, hasEnded } = warm();
  await clock.advance(900);
  expect(seen.rounds).toBe(0);
  await clock.advance(3_000);
  expect(seen.rounds).toBeGreaterThan(10);
  expect(hasEnded()).toBe(true);
  expect(clock.timers()).toBe(0);
});

test("it begins after a second and a turn of others, and has twenty rounds", async () => {
  const { clock, seen, hasEnded } = warm();
  await clock.advance(1_000);
  expect(seen.rounds).toBe(0);
  await clock.advance(1);
  expect(seen.rounds).toBeGreaterThan(0);
  await clock.advance(1_000);
  expect([seen.rounds, hasEnded()]).toEqual([20, true]);
});

test("it goes on once no request has come for fifty milliseconds", async () => {
  const quiet = warm();
  await quiet.clock.advance(951);
  quiet.warming.giveWay();
  await quiet.clock.advance(50);
  expect(quiet.seen.rounds).toBeGreaterThan(0);
  const busy = warm();
  await busy.clock.advance(952);
  busy.warming.giveWay();
  await busy.clock.advance(98);
  expect(busy.seen.rounds).toBe(0);
  await busy.clock.advance(1);
  expect(busy.seen.rounds).toBeGreaterThan(0);
});

test("work that is in its turn when it is stopped goes no further than that", async () => {
  const clock = createFakeClock();
  let isBeyond = false;
  const warming = createWarmUp({
    clock,
    open: (breathe: Breathe) =>
      Promise.resolve(async () => {
        warming.stop();
        await breathe();
        isBeyond = true;
      }),
  });
  const ended = warming.run();
  await clock.advance(1_001);
  await ended;
  await clock.advance(20_000);
  expect([isBeyond, clock.timers()]).toEqual([false, 0]);
});

test("others have a turn after every two milliseconds of work", async () => {
  const { clock, seen } = warm({ steps: 20 });
  await clock.advance(3_000);
  const lengths = seen.turns.map((step, i) => step - (seen.turns[i - 1] ?? 0));
  expect(lengths.length).toBeGreaterThan(100);
  expect(Math.max(...lengths)).toBe(2);
});

test("it waits while requests come, and goes on when none has come for a moment", async () => {
  const { clock, warming, seen, hasEnded } = warm({ steps: 20 });
  await clock.advance(1_010);
  for (let i = 0; i < 40; i += 1) {
    warming.giveWay();
    const before = seen.steps;
    await clock.advance(20);
    expect(seen.steps).toBe(before);
  }
  await clock.advance(3_000);
  expect(hasEnded()).toBe(true);
});

test("it ends within ten seconds, however long its rounds take and however many requests come", async () => {
  const long = warm({ steps: 1_000_000 });
  const busy = warm();
  for (let ms = 0; ms < 10_000; ms += 20) {
    busy.warming.giveWay();
    await Promise.all([long.clock.advance(20), busy.clock.advance(20)]);
  }
  expect([long.hasEnded(), busy.hasEnded()]).toEqual([true, true]);
  expect([long.clock.timers(), busy.clock.timers()]).toEqual([0, 0]);
});

test("it stops at once when told to, and nothing of it goes on", async () => {
  for (const afterMs of [0, 500, 1_005]) {
    const { clock, warming, seen, hasEnded } = warm({ steps: 20 });
    await clock.advance(afterMs);
    const before = seen.steps;
    warming.stop();
    await clock.advance(0);
    expect([hasEnded(), clock.timers()]).toEqual([true, 0]);
    await clock.advance(20_000);
    expect(seen.steps).toBe(before);
  }
});

test("what goes wrong in a rehearsal is told", async () => {
  const clock = createFakeClock();
  const { run } = createWarmUp({ clock, open: () => Promise.reject(new Error("out of tune")) });
  const told = run().catch((error: Error) => error.message);
  await clock.advance(2_000);
  expect(await told).toBe("out of tune");
});
