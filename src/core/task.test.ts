import { expect, test } from "bun:test";
import { isEnded, mayBeBegun, TASK_ERRORS, TASK_KINDS, TASK_STATES, TRANSITIONS } from "./task.ts";

test("the kinds of tasks, and why one may fail, in the words of the interface", () => {
  expect(TASK_KINDS.join()).toBe("image,video");
  expect(TASK_ERRORS.toSorted()).toEqual([
    "content_moderation",
    "generation_error",
    "input_too_large",
    "invalid_request_error",
    "overloaded_error",
    "timeout_error",
  ]);
});

test("a task has ended where it can go nowhere any more", () => {
  expect(TASK_STATES.filter(isEnded)).toEqual(["completed", "failed", "cancelled"]);
});

test("a task runs before it completes, is cancelled only before that, and may fail at any time", () => {
  const before = (state: string) => TASK_STATES.filter((from) => TRANSITIONS[from].includes(state as never));
  expect(TASK_STATES.map(before)).toEqual([
    [],
    ["pending"],
    ["running"],
    ["pending", "running"],
    ["pending"],
  ]);
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
