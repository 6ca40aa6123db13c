import { expect, test } from "bun:test";
import { flatten } from "./settings.ts";

test("a setting is named by its path", () => {
  expect(flatten({ port: 8080, timeouts: { idle: { seconds: 60 } } })).toEqual([
    { path: "port", value: "8080" },
    { path: "timeouts.idle.seconds", value: "60" },
  ]);
});

test("what is absent or empty says so", () => {
  const values = flatten({ metrics: null, proxies: [], models: {}, hosts: ["a", "b"] }).map(
    ({ value }) => value,
  );
  expect(values).toEqual(["none", "none", "{}", "a, b"]);
});

test("a list of objects stays as it was written", () => {
  expect(flatten({ routes: [{ model: "m" }] })).toEqual([{ path: "routes", value: '[{"model":"m"}]' }]);
});
