import { expect, test } from "bun:test";
import fc from "fast-check";
import { faultOf } from "../../../../test/providers/sample-fault.ts";
import { createChance } from "../chance.ts";
import { sampleValue } from "./sample.ts";

const range = (most: number): fc.Arbitrary<[number, number]> =>
  fc.tuple(fc.nat(most), fc.nat(most)).map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);

const texts = fc.oneof(
  fc.constant({ type: "string" }),
  range(40).map(([minLength, maxLength]) => ({ type: "string", minLength, maxLength })),
  fc
    .constantFrom("date", "date-time", "time", "email", "uuid", "uri", "ipv4", "ipv6", "hostname", "duration")
    .map((format) => ({ type: "string", format })),
  fc
    .constantFrom(
      "^[A-Z]{3}-\\d{4}$",
      "^(red|green|blue)$",
      "^\\+?[1-9]\\d{1,14}$",
      "^[^@\\s]+@[^@\\s]+\\.[a-z]{2,}$",
      "^(?:[a-f0-9]{2}:){5}[a-f0-9]{2}$",
      "x\\.y",
      "^\\p{Lu}\\p{Ll}+$",
      "^\\w{300}$",
      '^[^\\x20"-~]{3}$',
    )
    .map((pattern) => ({ type: "string", pattern })),
  fc
    .uniqueArray(fc.string(), { minLength: 1, maxLength: 4 })
    .map((values) => ({ type: "string", enum: values })),
);

const numbers = fc.oneof(
  fc.constantFrom({ type: "integer" }, { type: "number" }),
  range(1_000).map(([minimum, maximum]) => ({ type: "integer", minimum, maximum })),
  range(1_000).map(([low, high]) => ({
    type: "number",
    exclusiveMinimum: low / 7,
    exclusiveMaximum: (high + 1) / 7 + 0.001,
  })),
  fc.integer({ min: 1, max: 50 }).map((multipleOf) => ({ type: "integer", multipleOf, minimum: 1 })),
  fc.constantFrom(0.1, 0.25, 0.01, 3).map((multipleOf) => ({ type: "number", multipleOf, maximum: 40 })),
  fc.integer().map((maximum) => ({ type: "integer", maximum })),
);

const { schema: schemas } = fc.letrec<{ schema: object }>((tie) => {
  const members = fc.dictionary(fc.string({ minLength: 1, maxLength: 6 }), tie("schema"), { maxKeys: 4 });
  return {
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      texts,
      numbers,
      fc.constantFrom({ type: "boolean" }, { type: "null" }, {}),
      fc.jsonValue().map((value) => ({ const: value })),
      fc.tuple(members, fc.boolean()).chain(([properties, open]) =>
        fc.subarray(Object.keys(properties)).map((required) => ({
          type: "object",
          properties,
          required,
          additionalProperties: open,
        })),
      ),
      fc.tuple(tie("schema"), range(4)).map(([items, [minItems, maxItems]]) => ({
        type: "array",
        items,
        minItems,
        maxItems,
      })),
      fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
      fc.tuple(members, members).map(([a, b]) => ({
        // Members of one name in both would have to satisfy both.
        allOf: [
          { type: "object", properties: a, required: Object.keys(a) },
          { type: "object", required: Object.keys(b).filter((name) => !Object.hasOwn(a, name)) },
        ],
      })),
      tie("schema").map((inner) => ({ type: ["null", "object"], properties: { inner } })),
    ),
  };
});

test("a value satisfies its schema, says an independent validator", () => {
  fc.assert(
    fc.property(schemas, fc.string(), (schema, seed) => {
      expect(faultOf(schema, seed)).toBeNull();
    }),
    { numRuns: 400 },
  );
});

const endless: Readonly<Record<string, object>> = {
  "refers to itself": { $ref: "#" },
  "doubles at each step": { allOf: [{ $ref: "#" }, { $ref: "#" }] },
  "has no end": { type: "object", properties: { a: { $ref: "#" }, b: { $ref: "#" } }, required: ["a", "b"] },
  "asks for a billion items": { type: "array", items: { type: "array", minItems: 1e9 }, minItems: 1e9 },
  "asks for a billion letters": { type: "string", minLength: 1e9 },
  "asks for a billion repetitions": {
    type: "string",
    pattern: "^((a{1000}){1000}){1000000}(^){1000000000}$",
  },
  "joins long lists many times": {
    $defs: { e: { type: "string", enum: Array.from({ length: 6_000 }, (_, i) => `value number ${i}`) } },
    allOf: Array.from({ length: 6_000 }, () => ({ $ref: "#/$defs/e" })),
  },
  "joins many properties many times": {
    $defs: {
      o: {
        type: "object",
        properties: Object.fromEntries(Array.from({ length: 6_000 }, (_, i) => [`p${i}`, { const: i }])),
      },
    },
    allOf: Array.from({ length: 6_000 }, () => ({ $ref: "#/$defs/o" })),
  },
  "refers in a circle of many": {
    $defs: Object.fromEntries(
      Array.from({ length: 14 }, (_, i) => [
        `d${i}`,
        {
          type: "object",
          properties: Object.fromEntries(
            Array.from({ length: 14 }, (_unused, j) => [`p${j}`, { $ref: `#/$defs/d${j}` }]),
          ),
          required: Array.from({ length: 14 }, (_unused, j) => `p${j}`),
        },
      ]),
    ),
    $ref: "#/$defs/d0",
  },
};
for (const [name, schema] of Object.entries(endless)) {
  test(`a schema that ${name} ends in bounded work`, () => {
    const text = JSON.stringify(sampleValue(schema, createChance("x")));
    expect(text.length).toBeLessThan(5_000_000);
  });
}
