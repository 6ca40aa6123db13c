import { expect, test } from "bun:test";
import { readHealth } from "./search.ts";

test("an address says which routes are shown", () => {
  const search = {
    state: "open",
    provider: "openai",
    model: "gpt",
    order: "-calls",
    all: true,
    settings: true,
  };
  expect(readHealth(search)).toEqual({
    state: "open",
    provider: "openai",
    model: "gpt",
    order: "-calls",
    all: true,
    settings: true,
  });
});

test("what an address cannot mean is left out", () => {
  const { state, provider, model, order, all } = readHealth({
    state: "broken",
    provider: 7,
    model: "",
    all: "yes",
  });
  expect([state, provider, model, order, all]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
