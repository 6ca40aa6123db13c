import { expect, test } from "bun:test";
import { endOfTurn } from "./end-of-turn.ts";

test("all that wait in one turn go on together, after what was ready before, and the next turn is another", async () => {
  const told: string[] = [];
  const wait = async (name: string): Promise<void> => {
    await endOfTurn();
    told.push(name);
  };
  const both = [wait("first"), Promise.resolve().then(() => wait("second"))];
  queueMicrotask(() => told.push("ready"));
  await Promise.all(both);
  expect(told).toEqual(["ready", "first", "second"]);
  const later = endOfTurn();
  expect(endOfTurn()).toBe(later);
  await later;
  expect(endOfTurn()).not.toBe(later);
});
