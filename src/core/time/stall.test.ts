import { expect, test } from "bun:test";
import { createFakeClock } from "../../../test/gateway/fake-clock.ts";
import { roomWithin } from "./stall.ts";

test("room that is there needs no timer", async () => {
  const setTimer = (): never => {
    throw new Error("A timer was set.");
  };
  await roomWithin(undefined, { ...createFakeClock(), setTimer }, 10);
});

test("room that comes in time is no stall, and leaves no timer behind", async () => {
  const clock = createFakeClock();
  const { promise, resolve } = Promise.withResolvers<void>();
  const waiting = roomWithin(promise, clock, 10);
  await clock.advance(9);
  resolve();
  await waiting;
  expect(clock.timers()).toBe(0);
});

test("room that does not come is a stall once the time is over", async () => {
  const clock = createFakeClock();
  let stalled: unknown;
  void roomWithin(new Promise(() => {}), clock, 10).catch((error: unknown) => (stalled = error));
  await clock.advance(9);
  expect(stalled).toBeUndefined();
  await clock.advance(1);
  expect(stalled).toEqual(new Error("The client takes nothing."));
});

test("a connection that breaks is told as it is", async () => {
  const broken = Promise.reject(new Error("gone"));
  expect(await roomWithin(broken, createFakeClock(), 10).catch(String)).toBe("Error: gone");
});
