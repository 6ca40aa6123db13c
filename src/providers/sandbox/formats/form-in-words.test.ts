import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../core/json/json-value.ts";
import { formAskedFor, formOfJson } from "./form-in-words.ts";

const SCHEMA = {
  type: "object",
  properties: { name: { type: "string" }, tags: { type: "array", items: { type: "string" } } },
  required: ["name", "tags"],
};
const TEXT = JSON.stringify(SCHEMA, null, 2);

describe("the form of any JSON is", () => {
  const rows: readonly [string, string[], JsonObject][] = [
    ["an object where nothing is said of it", ["Give me a person."], {}],
    ["the schema in the text", [`A person.\n\`\`\`json\n${TEXT}\n\`\`\`\nNothing else.`], SCHEMA],
    ["the schema of the instructions", ["A person.", `JSON schema:\n${TEXT}`], SCHEMA],
    ["the nearest schema", [`{"properties":{"a":{}}}`, TEXT], { properties: { a: {} } }],
    [
      "the last of two, as examples of schemas come first",
      [`Such as {"properties":{"foo":{}}}. ${TEXT}`],
      SCHEMA,
    ],
    ["a schema that has a name", [`{"name":"person","schema":${TEXT}}`], SCHEMA],
    ["a schema before an example", [`{"name":"Ada","tags":[]}`, TEXT], SCHEMA],
    ["that behind a brace that is never closed", [`Write {{name}} or {. ${TEXT}`], SCHEMA],
    [
      "a schema of references",
      [`{"$ref":"#/$defs/a","$defs":{"a":${TEXT}}}`],
      { $ref: "#/$defs/a", $defs: { a: SCHEMA } },
    ],
  ];
  test.each(rows)("%s", (_, texts, form) => expect(formOfJson(texts)).toEqual(form));

  test("the shape of an example, with types by their values or by their names", () => {
    const example =
      '{"name":"Ada","age":"integer","score":1.5,"tags":["a"],"ok":true,"more":{"n":1},"any":null}';
    expect(formOfJson([`Answer like this: ${example}`])).toEqual({
      type: "object",
      properties: {
        name: { type: "string" },
        age: { type: "integer" },
        score: { type: "number" },
        tags: { type: "array", minItems: 1, items: { type: "string" } },
        ok: { type: "boolean" },
        more: {
          type: "object",
          properties: { n: { type: "integer" } },
          required: ["n"],
          additionalProperties: false,
        },
        any: {},
      },
      required: ["name", "age", "score", "tags", "ok", "more", "any"],
      additionalProperties: false,
    });
  });
});

describe("JSON is asked for in words", () => {
  const rows: readonly [string, string[], JsonObject | undefined][] = [
    [
      "by a schema that the answer must match",
      [`JSON schema:\n${TEXT}\nYou MUST answer with a JSON object that matches.`],
      SCHEMA,
    ],
    ["by the system's", ["A person.", `Return JSON of this schema: ${TEXT}`], SCHEMA],
    ["not by a schema that is talked about", [`Why is this JSON schema slow? ${TEXT}`], undefined],
    [
      "not by data with a member of that name",
      ['Return JSON like {"type":"Feature","properties":{"a":{}}}'],
      undefined,
    ],
    ["not without a schema", ["Return JSON."], undefined],
    ["not by other data", ['Return the sum of this JSON: {"a":1}'], undefined],
  ];
  test.each(rows)("%s", (_, texts, form) => expect(formAskedFor(texts)).toEqual(form));
});

test("a text of braces alone is gone over once", () => {
  for (const text of [
    "{".repeat(1_000_000),
    "}".repeat(1_000_000),
    "{}".repeat(500_000),
    "{".repeat(500_000) + "}".repeat(500_000),
  ])
    expect(formOfJson([text])).toEqual({});
  const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`;
  expect(formOfJson([deep])).toMatchObject({ properties: { a: { required: ["a"] } } });
});
