import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describeOpenApi } from "./openapi.ts";
import { ROUTES } from "./routes.ts";

// oxlint-disable-next-line typescript/no-explicit-any -- a description is read as the JSON that clients get
type Json = any;

const description: Json = JSON.parse(
  JSON.stringify(describeOpenApi(ROUTES, "http://127.0.0.1:8080", "0.1.0")),
);
const operations: [string, string, Json][] = Object.entries(description.paths).flatMap(([path, methods]) =>
  Object.entries(methods as Json).map(([method, operation]): [string, string, Json] => [
    path,
    method,
    operation,
  ]),
);

test("the description is valid OpenAPI 3.1", async () => {
  const { valid, errors } = await new Validator().validate(description);
  expect([valid, errors]).toEqual([true, undefined]);
  expect(description.openapi).toBe("3.1.0");
});

test("it has exactly the paths and methods of the route table", () => {
  const described = operations.map(([path, method]) => `${method} ${path}`).toSorted();
  const routed = ROUTES.map(
    ({ method, path }) => `${method} ${path.replace(/\/:(\w+)(\{[^}]*\})?/g, "/{$1}")}`,
  );
  expect(described).toEqual(routed.toSorted());
  expect(new Set(described).size).toBe(ROUTES.length);
});

test("the console's types are those of the description", async () => {
  const types = astToString(await openapiTS(description));
  const kept = readFileSync(join(import.meta.dir, "../../console/src/api/schema.d.ts"), "utf8");
  // Its first lines say where it comes from.
  expect(kept.slice(kept.indexOf("export interface"))).toBe(types.slice(types.indexOf("export interface")));
});

test("a range of time says what it is a range of", () => {
  const whens = {
    "/admin/v1/accounts/{id}/ledger": "Written",
    "/admin/v1/requests": "Settled",
    "/admin/v1/refusals": "Refused",
    "/admin/v1/refusals/counts": "Refused in an hour that contains it or begins",
    "/admin/v1/tasks": "Created",
    "/admin/v1/tasks/counts": "Created",
  };
  for (const [path, when] of Object.entries(whens)) {
    const { parameters } = description.paths[path].get;
    const told = parameters.flatMap(({ name, schema }: Json) =>
      name === "from" || name === "to" ? schema.description : [],
    );
    expect([path, told]).toEqual([
      path,
      [`${when} then or later; Unix time in seconds`, `${when} before then`],
    ]);
  }
});

test("an audit is of what is new unless it is told otherwise, as described", () => {
  const { parameters } = description.paths["/admin/v1/audit"].get;
  expect(parameters).toContainEqual(
    expect.objectContaining({ name: "full", schema: expect.objectContaining({ default: false }) }),
  );
});

test("every operation has an id of its own, a tag that is listed, and says how it is refused", () => {
  const ids = operations.map(([, , { operationId }]) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  const tags = description.tags.map(({ name }: Json) => name);
  for (const [path, method, operation] of operations) {
    expect(operation.operationId).toMatch(/^[a-zA-Z0-9]+$/);
    expect(tags).toContain(operation.tags[0]);
    expect(Object.keys(operation.responses)).toContain("500");
    const isSignIn = path === "/console/api/session" && method === "post";
    const asks = /^\/(admin\/|api\/|console\/api\/|metrics$)/.test(path) && !isSignIn;
    expect([path, asks]).toEqual([path, operation.security.length > 0]);
    if (operation.security.length > 0) expect(Object.keys(operation.responses)).toContain("401");
    // The key could not be looked up.
    if (path.startsWith("/api/")) expect(Object.keys(operation.responses)).toContain("503");
  }
});

describe("every path parameter is described", () => {
  for (const [path, method, operation] of operations) {
    test(`${method} ${path}`, () => {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const described = operation.parameters.filter((parameter: Json) => parameter.in === "path");
      expect(described.map(({ name, required }: Json) => [name, required])).toEqual(
        named.map((name) => [name, true]),
      );
    });
  }
});

test("a model tells by an address where its page is, and by a date when it was made", () => {
  const { schema } =
    description.paths["/api/v1/models/{model}"].get.responses[200].content["application/json"];
  expect([schema.properties.documentation_url.format, schema.properties.created_at.format]).toEqual([
    "uri",
    "date-time",
  ]);
});
