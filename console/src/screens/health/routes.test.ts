import { expect, test } from "bun:test";
import { chosenRoutes, type Route, routeId, timesOf } from "./routes.ts";

function route(model: string, over: Partial<Route> = {}): Route {
  const plain = {
    model,
    category: "language",
    provider: "openai",
    credential: null,
    upstream_id: model,
    formats: [],
    weight: 1,
    cost_known: false,
    by: "order",
    sticky: false,
    fallback: [],
    state: "healthy",
    until: null,
    failures: 0,
    latency_ms: null,
    plain_ms: null,
    calls: 0,
    failed: 0,
    last_failure: null,
    ...over,
  } satisfies Omit<Route, "id">;
  return { ...plain, id: routeId(plain) };
}
const models = (routes: readonly Route[]): readonly string[] => routes.map(({ model }) => model);

test("routes in trouble come first", () => {
  const routes = [route("a"), route("b", { state: "open" }), route("c", { state: "cooling" })];
  expect(models(chosenRoutes(routes, {}))).toEqual(["b", "c", "a"]);
});

test("an order may be turned around", () => {
  const routes = [route("a", { calls: 1 }), route("b", { calls: 3 }), route("c", { calls: 2 })];
  expect(models(chosenRoutes(routes, { order: "calls" }))).toEqual(["a", "c", "b"]);
  expect(models(chosenRoutes(routes, { order: "-calls" }))).toEqual(["b", "c", "a"]);
});

test("state, provider and a part of the model's name narrow the list", () => {
  const routes = [route("gpt-a"), route("gpt-b", { provider: "groq" }), route("claude", { state: "open" })];
  expect(models(chosenRoutes(routes, { state: "open" }))).toEqual(["claude"]);
  expect(models(chosenRoutes(routes, { provider: "groq" }))).toEqual(["gpt-b"]);
  expect(models(chosenRoutes(routes, { model: "GPT" }))).toEqual(["gpt-a", "gpt-b"]);
});

test("a time that is absent beside another says why", () => {
  expect(timesOf(route("a", { latency_ms: 320, plain_ms: 1_400 }))).toEqual({ first: 320, whole: 1_400 });
  expect(timesOf(route("a", { plain_ms: 1_400 }))).toEqual({ first: "no stream of late", whole: 1_400 });
  expect(timesOf(route("a", { latency_ms: 320 }))).toEqual({ first: 320, whole: "streams only" });
  expect(timesOf(route("a"))).toEqual({ first: "–", whole: "–" });
});

test("what never streams has one time, that of the whole answer", () => {
  expect(timesOf(route("a", { category: "video", latency_ms: 30_000 }))).toEqual({
    first: "never streams",
    whole: 30_000,
  });
});

test("routes are ordered by either time, those without it first", () => {
  const routes = [route("a", { plain_ms: 9 }), route("b", { latency_ms: 5 }), route("c", { plain_ms: 4 })];
  expect(models(chosenRoutes(routes, { order: "whole" }))).toEqual(["b", "c", "a"]);
  expect(models(chosenRoutes(routes, { order: "-latency" }))).toEqual(["b", "a", "c"]);
});

test("one model by two credentials is two routes", () => {
  expect(route("a", { credential: "KEY_1" }).id).not.toBe(route("a", { credential: "KEY_2" }).id);
});
