import { expect, test } from "bun:test";
import { bodyOf, type Changeable, changesOf, controlOf, faultsOf, NEW_KEY, valuesOf } from "./key-form.ts";

const KEY: Changeable = {
  name: "web",
  models: ["a/b"],
  budget: 12.5,
  limits: { requests_per_minute: 60, tokens_per_minute: null, concurrency: 2 },
  routes: true,
  expires_at: 1_800_000_042,
};

test("an empty form asks for a key without bounds", () => {
  expect(bodyOf({ ...NEW_KEY, name: " ci " })).toEqual({
    name: "ci",
    models: null,
    budget: null,
    limits: { requests_per_minute: null, tokens_per_minute: null, concurrency: null },
    routes: false,
    expires_at: null,
  });
});

test("a key's form asks for the same key, to the minute", () => {
  expect(bodyOf(valuesOf(KEY))).toEqual({ ...KEY, expires_at: 1_800_000_000 });
});

test("a form that was not touched changes nothing, not even the seconds of an expiry", () => {
  expect(changesOf(KEY, valuesOf(KEY))).toEqual({});
});

test("a change has what differs alone", () => {
  const values = { ...valuesOf(KEY), concurrency: "", budget: "0", models: null };
  expect(changesOf(KEY, values)).toEqual({ models: null, budget: 0, limits: { concurrency: null } });
});

test("an expiry in the past is refused, and one that has passed since may stay", () => {
  const values = valuesOf({ ...KEY, expires_at: 1_800_000_000 });
  expect(faultsOf(NEW_KEY, 1_800_000_000)).toEqual({});
  expect(faultsOf(values, 1_799_999_999)).toEqual({});
  expect(faultsOf(values, 1_800_000_000)).toEqual({ expires_at: expect.stringContaining("in the past") });
  expect(faultsOf(values, 1_900_000_000, values)).toEqual({});
  expect(faultsOf({ ...values, expires_at: "" }, 1_900_000_000, values)).toEqual({});
});

test("a fault stands at its control", () => {
  expect(["limits.concurrency", "models[3]", "budget", undefined].map(controlOf)).toEqual([
    "concurrency",
    "models",
    "budget",
    undefined,
  ]);
});
