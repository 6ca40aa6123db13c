import { expect, test } from "bun:test";
import { handOver } from "./handover.ts";

test("a value is taken once", () => {
  const value = {};
  const handover = handOver(value);
  expect(handover.take()).toBe(value);
  expect(() => handover.take()).toThrow("It was taken before.");
});
