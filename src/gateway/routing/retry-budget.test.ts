import { expect, test } from "bun:test";
import { createRetryBudget, type RetryBudget } from "./retry-budget.ts";

/** How many retries can be taken now, up to 100. */
function takenOf(budget: RetryBudget): number {
  let taken = 0;
  while (taken < 100 && budget.take()) taken += 1;
  return taken;
}

test("a process begins with ten retries, and each request adds its part", () => {
  const budget = createRetryBudget(() => ({ retryBudget: 0.25 }));
  expect(takenOf(budget)).toBe(10);
  for (let i = 0; i < 7; i += 1) budget.earn();
  expect(takenOf(budget)).toBe(1);
  budget.earn();
  expect(takenOf(budget)).toBe(1);
});

test("it says whether a retry is left, and hinders nobody where none is wanted", () => {
  const settings = { retryBudget: 0.5 };
  const budget = createRetryBudget(() => settings);
  expect(budget.affords()).toBe(true);
  takenOf(budget);
  expect(budget.affords()).toBe(false);
  settings.retryBudget = 0;
  expect(budget.affords()).toBe(true);
});

test("no more than ten retries are saved", () => {
  const budget = createRetryBudget(() => ({ retryBudget: 1 }));
  for (let i = 0; i < 1_000; i += 1) budget.earn();
  expect(takenOf(budget)).toBe(10);
});

test("with a budget of 0 nothing is retried, and a changed budget holds at once", () => {
  const settings = { retryBudget: 0 };
  const budget = createRetryBudget(() => settings);
  expect(takenOf(budget)).toBe(0);
  settings.retryBudget = 1;
  expect(takenOf(budget)).toBe(10);
  budget.earn();
  expect(takenOf(budget)).toBe(1);
});

test("a retry that could not be made is there for the next request", () => {
  const budget = createRetryBudget(() => ({ retryBudget: 0.25 }));
  expect(takenOf(budget)).toBe(10);
  budget.giveBack();
  expect(takenOf(budget)).toBe(1);
  for (let i = 0; i < 20; i += 1) budget.giveBack();
  expect(takenOf(budget)).toBe(10);
});
