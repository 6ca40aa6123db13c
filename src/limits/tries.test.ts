import { expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { createTries } from "./tries.ts";

test("an address has twenty wrong tries in ten minutes, whatever others do", async () => {
  const clock = createFakeClock();
  const tries = createTries(clock);
  for (let i = 0; i < 20; i += 1) {
    expect(tries.wrong("a")).toBeUndefined();
    await clock.advance(1_000);
  }
  expect(tries.wrong("a")).toBe(580);
  expect(tries.wrong("b")).toBeUndefined();
  await clock.advance(579_000);
  expect(tries.wrong("a")).toBe(1);
  // What was refused was not counted: the first of the twenty is over, and makes room for one.
  await clock.advance(1_000);
  expect(tries.wrong("a")).toBeUndefined();
  expect(tries.wrong("a")).toBe(1);
});

test("the wait is told in whole seconds, and is over when they are", async () => {
  const clock = createFakeClock();
  const tries = createTries(clock);
  for (let i = 0; i < 20; i += 1) tries.wrong("a");
  await clock.advance(999);
  expect(tries.wrong("a")).toBe(600);
  await clock.advance(1);
  expect(tries.wrong("a")).toBe(599);
});

test("setting the machine's time gives no tries", () => {
  const clock = createFakeClock();
  const tries = createTries(clock);
  for (let i = 0; i < 20; i += 1) tries.wrong("a");
  clock.jump(3_600_000);
  expect(tries.wrong("a")).toBe(600);
});

test("many addresses take bounded memory: the one that tried longest ago is forgotten", () => {
  const tries = createTries(createFakeClock());
  for (let i = 0; i < 20; i += 1) for (const address of ["a", "b"]) tries.wrong(address);
  for (let i = 0; i < 9_998; i += 1) tries.wrong(String(i));
  expect(tries.wrong("a")).toBe(600);
  tries.wrong("one more");
  expect(tries.wrong("b")).toBeUndefined();
  expect(tries.wrong("a")).toBe(600);
});
