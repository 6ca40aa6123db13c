import { describe, expect, test } from "bun:test";
import { flatten, limitOf, openSchema, sizeOf, typesOf } from "./json-schema.ts";

const flat = (schema: unknown, root: unknown = schema): object =>
  flatten(openSchema(root), schema, ([first]) => first);

describe("a schema and what it refers to become one", () => {
  test("by references to any place in it, in the words of JSON Pointer and of a URL", () => {
    const root = { $defs: { a: { title: "A" }, "b/c~d e": { title: "B" }, list: [{ title: "C" }] } };
    const of = ($ref: string) => flat({ $ref }, root);
    expect(of("#/$defs/a")).toEqual({ title: "A" });
    expect(of("#/$defs/b~1c~0d%20e")).toEqual({ title: "B" });
    expect(of("#/$defs/list/0")).toEqual({ title: "C" });
    expect(of("#")).toEqual(root);
    for (const nowhere of ["#/$defs/x", "#/$defs/a/title/x", "#/$defs/toString", "other.json#/$defs/a"])
      expect([nowhere, of(nowhere)]).toEqual([nowhere, {}]);
  });

  test("with all of `allOf`, and of alternatives the one that is picked", () => {
    expect(flat({ title: "A", allOf: [{ minimum: 1 }, { maximum: 2 }] })).toEqual({
      title: "A",
      minimum: 1,
      maximum: 2,
    });
    expect(flat({ anyOf: [{ minimum: 1 }, { maximum: 2 }], oneOf: [{ title: "A" }] })).toEqual({
      minimum: 1,
      title: "A",
    });
    expect(flat({ anyOf: [] })).toEqual({});
  });

  const joined = (a: object, b: object): object => flat({ allOf: [a, b] });

  test("whose limits both hold, and of whose other words the later one does", () => {
    expect(joined({ minimum: 1, maxLength: 9 }, { minimum: 3, maxLength: 5 })).toEqual({
      minimum: 3,
      maxLength: 5,
    });
    expect(joined({ exclusiveMinimum: 3, maxItems: 5 }, { exclusiveMinimum: 1, maxItems: 9 })).toEqual({
      exclusiveMinimum: 3,
      maxItems: 5,
    });
    expect(joined({ title: "A", format: "x", minimum: "1" }, { title: "B", minimum: 0 })).toEqual({
      title: "B",
      format: "x",
      minimum: 0,
    });
  });

  test("whose types and values are those of both", () => {
    expect(joined({ type: ["string", "null"] }, { type: "string" })).toEqual({ type: ["string"] });
    expect(joined({ type: "integer" }, { type: "number" })).toEqual({ type: ["integer"] });
    expect(joined({ type: "number" }, { type: "string" })).toEqual({ type: ["string"] });
    expect(joined({ enum: [1, 2, { a: 1 }] }, { enum: [2, 3, { a: 1 }] })).toEqual({ enum: [2, { a: 1 }] });
  });

  test("whose members are those of either, each with all that is said of it", () => {
    const a = { properties: { x: { minimum: 1 }, y: {} }, required: ["x"], items: { minimum: 1 } };
    const b = { properties: { x: { maximum: 2 }, z: {} }, required: ["x", "z"], items: false };
    expect(joined(a, b)).toEqual({
      properties: { x: { allOf: [{ minimum: 1 }, { maximum: 2 }] }, y: {}, z: {} },
      required: ["x", "z"],
      items: false,
    });
    expect(joined({ additionalProperties: {} }, { additionalProperties: { minimum: 1 } })).toEqual({
      additionalProperties: { allOf: [{}, { minimum: 1 }] },
    });
  });
});

test("a schema that leads back to itself comes to an end, and so does one that joins too much", () => {
  const deep = (depth: number): object => (depth === 0 ? { title: "A" } : { allOf: [deep(depth - 1)] });
  expect([flat(deep(64)), flat(deep(65))]).toEqual([{ title: "A" }, {}]);
  const within = openSchema({});
  flatten(within, { allOf: [{ enum: Array.from({ length: 1_000 }, (_, i) => i) }] }, ([first]) => first);
  expect(within.work).toBe(1_000_000 - 2 - 1_001);
});

test("words of a schema are read in the ways that its dialects write them", () => {
  expect([typesOf({ type: "STRING" }), typesOf({ type: ["null", "Object"] }), typesOf({})]).toEqual([
    ["string"],
    ["null", "object"],
    [],
  ]);
  expect([3, "3", "-1.5", "x", "1e3", "1.", null, Infinity].map(limitOf)).toEqual([
    3,
    3,
    -1.5,
    undefined,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  expect(sizeOf({ properties: { a: {}, b: {} }, enum: [1, 2, 3], required: ["a"] })).toBe(3 + 2 + 3 + 1);
});
