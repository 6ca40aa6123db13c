import { expect, test } from "bun:test";
import { parametersOf } from "./parameters.ts";

test("parameters are told with type, range and default; members follow their object", () => {
  const rows = parametersOf({
    required: ["model"],
    properties: {
      model: { type: "string", const: "a/b", description: "The id" },
      temperature: { type: "number", minimum: 0, maximum: 2 },
      duration: { anyOf: [{ enum: ["5", "10"], type: "string" }, { enum: [5, 10] }], default: "5" },
      stop: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, maxItems: 16 }] },
      reasoning: { type: "object", properties: { effort: { type: ["string", "null"], maxLength: 9_000 } } },
    },
  });
  expect(rows.map(({ name, type, range, default: value }) => [name, type, range, value])).toEqual([
    ["model", "string", "a/b", ""],
    ["temperature", "number", "0 to 2", ""],
    ["duration", "string or number", "5, 10", '"5"'],
    ["stop", "string or array of string", "at most 16", ""],
    ["reasoning", "object", "", ""],
    ["reasoning.effort", "string", "at most 9,000 characters", ""],
  ]);
  expect(rows.filter(({ isRequired }) => isRequired).map(({ name }) => name)).toEqual(["model"]);
});
