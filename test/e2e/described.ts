import { expect } from "bun:test";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import type { Json } from "../gateway/gateway.ts";

/** Holds JSON against the schemas of a description. */
export const ajv = addFormats(new Ajv2020({ strict: false }));

/** The body is as `description` has it for this answer, and has nothing that is not described. */
export function expectDescribed(
  description: Json,
  [method, path, status]: readonly [string, string, number],
  body: Json,
): void {
  const answer = description.paths[path][method].responses[status];
  const named = answer.content["application/json"].schema;
  const name = named.$ref?.replace("#/components/schemas/", "");
  const validate = ajv.compile(closed(name === undefined ? named : description.components.schemas[name]));
  validate(body);
  expect([method, path, status, validate.errors]).toEqual([method, path, status, null]);
}

/** The schema, with no members but those that it names. */
export function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return schema.type === "object" && schema.properties !== undefined
    ? { ...parts, additionalProperties: false }
    : parts;
}
