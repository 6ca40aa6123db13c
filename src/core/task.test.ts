import { expect, test } from "bun:test";
import { isEnded, mayBeBegun, TASK_STATES } from "./task.ts";

test("a task has ended where it can go nowhere any more", () => {
  expect(TASK_STATES.filter(isEnded)).toEqual(["completed", "failed", "cancelled"]);
});

test.each([
  [0, 0, false],
  [1, 0, true],
  [1, 1, false],
  [2, 1, true],
  [2, 2, false],
])("after %p attempts and %p refusals, a provider may have begun a task: %p", (attempts, refusals, may) => {
  expect(mayBeBegun({ attempts, refusals })).toBe(may);
  expect(mayBeBegun({ attempts: BigInt(attempts), refusals: BigInt(refusals) })).toBe(may);
});
