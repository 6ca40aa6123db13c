import { describe, expect, test } from "bun:test";
import { faultOf } from "../../../../test/providers/sample-fault.ts";
import { createChance } from "../chance.ts";
import { sampleValue } from "./sample.ts";

const hard: Readonly<Record<string, object>> = {
  "references and definitions": {
    $ref: "#/$defs/order",
    $defs: {
      order: {
        type: "object",
        properties: { lines: { type: "array", items: { $ref: "#/$defs/line" }, minItems: 2 }, "a/b": true },
        required: ["lines", "a/b"],
        additionalProperties: false,
      },
      line: { type: "object", properties: { n: { type: "integer", minimum: 5 } }, required: ["n"] },
    },
  },
  "a tree": {
    $defs: {
      node: {
        type: "object",
        properties: {
          value: { type: "number" },
          left: { anyOf: [{ $ref: "#/$defs/node" }, { type: "null" }] },
          children: { type: "array", items: { $ref: "#/$defs/node" } },
        },
        required: ["value", "left", "children"],
        additionalProperties: false,
      },
    },
    $ref: "#/$defs/node",
  },
  "one of several by a constant": {
    oneOf: [
      {
        type: "object",
        properties: { kind: { const: "a" }, x: { type: "number" } },
        required: ["kind", "x"],
      },
      {
        type: "object",
        properties: { kind: { const: "b" }, y: { type: "string" } },
        required: ["kind", "y"],
      },
    ],
  },
  "unique items of few values": {
    type: "array",
    items: { enum: ["a", "b", "c", "d"] },
    uniqueItems: true,
    minItems: 4,
  },
  "items by place": {
    type: "array",
    prefixItems: [{ type: "string" }, { type: "integer" }],
    items: false,
    minItems: 2,
  },
  "an item that must be there": { type: "array", items: { type: "integer" }, contains: { minimum: 90 } },
  "members that nobody named": {
    type: "object",
    minProperties: 3,
    additionalProperties: { type: "integer" },
  },
  "a base with alternatives": {
    type: "object",
    properties: { a: { type: "string" }, b: { type: "string" } },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
  },
  "limits that both hold": {
    allOf: [
      { type: "number", minimum: 3 },
      { type: "integer", maximum: 4 },
    ],
  },
  "a pattern of a least length": { type: "string", pattern: "^[a-z]+$", minLength: 12, maxLength: 30 },
  "a member named like an object's own": {
    type: "object",
    properties: { ["__proto__"]: { type: "string" }, constructor: { type: "integer" } },
    required: ["constructor"],
  },
};
describe("a value satisfies a schema with", () => {
  for (const [name, schema] of Object.entries(hard)) {
    test(name, () => {
      for (let seed = 0; seed < 12; seed += 1) expect(faultOf(schema, String(seed))).toBeNull();
    });
  }

  test("the words of draft 7", () => {
    const schema = {
      definitions: { id: { type: "integer", minimum: 1 } },
      type: "array",
      items: [{ $ref: "#/definitions/id" }, { type: "string" }],
      additionalItems: { type: "boolean" },
      minItems: 3,
    };
    for (let seed = 0; seed < 12; seed += 1) expect(faultOf(schema, String(seed), "7")).toBeNull();
  });

  test("the words of OpenAPI: types in capitals, counts as text", () => {
    const value = sampleValue(
      {
        type: "OBJECT",
        properties: {
          names: { type: "ARRAY", items: { type: "STRING" }, minItems: "3" },
          size: { type: "INTEGER", minimum: 4, maximum: 4 },
          state: { type: "STRING", format: "enum", enum: ["on"] },
        },
        required: ["names", "size", "state"],
      },
      createChance("x"),
    );
    expect(value).toMatchObject({ size: 4, state: "on" });
    expect((value as { names: unknown[] }).names.length).toBeGreaterThanOrEqual(3);
  });
});

test("the same seed gives the same value, another seed another one", () => {
  const schema = { type: "array", items: { type: "string" }, minItems: 4 };
  const of = (seed: string): string => JSON.stringify(sampleValue(schema, createChance(seed)));
  expect(of("a")).toBe(of("a"));
  expect(of("a")).not.toBe(of("b"));
});

test("limits between which there is no multiple give a number within them, and no search without an end", () => {
  for (let seed = 0; seed < 5; seed += 1) {
    const of = (schema: object) => sampleValue(schema, createChance(String(seed)));
    expect(of({ type: "integer", minimum: 1, maximum: 2, multipleOf: 5 })).toBe(1);
    expect(of({ type: "integer", minimum: 11, maximum: 19, multipleOf: 7 })).toBe(14);
    expect([0.1, 0.2, 0.3]).toContain(
      of({ type: "number", minimum: 0.1, maximum: 0.3, multipleOf: 0.1 }) as number,
    );
  }
});
