import { expect, test } from "bun:test";
import { createTimerWheel } from "./timer-wheel.ts";

test("each work takes its turns one interval apart, in its own phase, until it says it is done", () => {
  let now = 100;
  const wheel = createTimerWheel(10, () => now);
  const turns: string[] = [];
  const work = (name: string, count: number) => () => {
    turns.push(`${name}@${now}`);
    count -= 1;
    return count > 0;
  };
  wheel.add(work("a", 3));
  now = 103;
  wheel.advance();
  wheel.add(work("b", 1));
  for (now = 104; now < 140; now++) wheel.advance();
  wheel.stop();
  expect(turns).toEqual(["a@110", "b@113", "a@120", "a@130"]);
});

test("after a long pause each work takes one turn, not all that were missed", () => {
  let now = 0;
  const wheel = createTimerWheel(5, () => now);
  let turns = 0;
  wheel.add(() => {
    turns += 1;
    return true;
  });
  now = 1_000;
  wheel.advance();
  wheel.stop();
  expect(turns).toBe(1);
});
