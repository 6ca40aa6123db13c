import { expect, test } from "bun:test";
import { createLiveCalls } from "./live-calls.ts";

test("the end of all calls ends those under way, none that have ended, and at once those that begin later", () => {
  const live = createLiveCalls();
  const told: string[] = [];
  const call = (name: string) => ({ abort: ({ message }: Error) => void told.push(`${name}: ${message}`) });
  const ended = call("ended");
  live.add(ended);
  live.add(call("under way"));
  live.delete(ended);
  expect([live.size, told]).toEqual([1, []]);
  live.end(new Error("over"));
  live.add(call("late"));
  expect(told).toEqual(["under way: over", "late: over"]);
});
