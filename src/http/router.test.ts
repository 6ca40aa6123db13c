import { describe, expect, test } from "bun:test";
import { GatewayError } from "../core/errors.ts";
import type { Route } from "./route.ts";
import { createRouter } from "./router.ts";

const row = (path: string, access: Route["access"], more: Partial<Route> = {}): Route => ({
  method: "get",
  path,
  access,
  summary: "",
  tag: "service",
  answers: {},
  errors: [],
  handle: () => new Response(),
  ...more,
});

const router = createRouter([
  row("/api/v1/mine", "key"),
  row("/api/v1/open", "public"),
  row("/api/v1/boss/:id", "admin"),
  row("/api/v1/read", "public", { readPath: (path) => (path === "/api/v1/read" ? { path } : undefined) }),
  row("/api/v1/boss/:id/mine", "key"),
  row("/pages/:kind/:name{.+}/llms.txt", "public", { handle: () => new Response("page") }),
  row("/pages/:kind/:name{.+}/llms.txt", "public", { method: "delete" }),
]);

/** The path of the route that was found and its parameters, or the status of the refusal. */
async function found(path: string, method = "GET"): Promise<readonly [string, object] | number> {
  let route: readonly [string, object] | undefined;
  try {
    await router(path, new Request("http://gateway/", { method }), {
      at: () => {},
      run: async (row, params) => {
        route = [row.path, { ...params }];
        return new Response();
      },
    });
  } catch (error) {
    if (error instanceof GatewayError) return error.status;
    throw error;
  }
  return route ?? 0;
}

describe("an address that is not the documented one", () => {
  test("leads to a route that asks for an API key", async () => {
    for (const path of ["/api/v1/mine", "/mine", "/v1/mine", "//api//v1//mine/"])
      expect(await found(path)).toEqual(["/api/v1/mine", {}]);
    expect(await found("/v1/boss/a%2Fb/mine")).toEqual(["/api/v1/boss/:id/mine", { id: "a/b" }]);
  });

  test("leads to no other, wherever in the table that stands", async () => {
    for (const path of ["open", "boss/x", "read"]) {
      const documented = await found(`/api/v1/${path}`);
      expect(documented).toBeArray();
      for (const prefix of ["/", "/v1/", "/v1beta/", "/api/", "/api/v1/v1/", "/api/v1//", "//api/v1/"]) {
        // Not even the method says that there is something.
        for (const method of ["GET", "POST"])
          expect([prefix, path, await found(`${prefix}${path}`, method)]).toEqual([prefix, path, 404]);
      }
      expect(await found(`/api/v1/${path}/`)).toBe(404);
    }
  });
});

test("a path is decoded once, and what is encoded in it makes no segment", async () => {
  expect(await found("/api/v1/%6dine")).toEqual(["/api/v1/mine", {}]);
  expect(await found("/api/v1/%256dine")).toBe(404);
  expect(await found("/api%2Fv1/mine")).toBe(404);
  expect(await found("/api/v1%2Fmine")).toBe(404);
  expect(await found("/api/v1/boss/a%252Fb")).toEqual(["/api/v1/boss/:id", { id: "a%2Fb" }]);
  expect(await found("/api/v1/boss/a%2525")).toEqual(["/api/v1/boss/:id", { id: "a%25" }]);
  expect(await found("/api/v1/boss/%E2%82%AC%20%3F")).toEqual(["/api/v1/boss/:id", { id: "€ ?" }]);
});

test("a parameter is one segment or, where its pattern says so, any number of them", async () => {
  const path = "/pages/:kind/:name{.+}/llms.txt";
  expect(await found("/pages/a/b/llms.txt")).toEqual([path, { kind: "a", name: "b" }]);
  expect(await found("/pages/a/b/c%2Fd/llms.txt")).toEqual([path, { kind: "a", name: "b/c/d" }]);
  for (const other of [
    "/pages/a//llms.txt",
    "/pages//b/llms.txt",
    "/pages/a/b/llms-txt",
    "/x/pages/a/b/llms.txt",
  ])
    expect(await found(other)).toBe(404);
});

test("a path tells which methods it takes, and the head of an answer has no body", async () => {
  const dispatch = {
    at: () => {},
    run: async (route: Route) => route.handle({} as Parameters<Route["handle"]>[0]),
  };
  const answer = async (method: string): Promise<Response> =>
    router("/pages/a/b/llms.txt", new Request("http://gateway/", { method }), dispatch);
  expect(await answer("POST").catch((error: GatewayError) => [error.status, error.headers])).toEqual([
    405,
    { allow: "GET, DELETE" },
  ]);
  expect(await (await answer("GET")).text()).toBe("page");
  expect(await (await answer("HEAD")).text()).toBe("");
});
