import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import { fieldName } from "../spelling.ts";

/** Members of the vendor's schemas that hold schemas by name, in a list, or one. */
const BY_NAME: ReadonlySet<string> = new Set(["properties", "$defs", "defs"]);
const IN_A_LIST: ReadonlySet<string> = new Set(["anyOf", "prefixItems"]);
const INSIDE: ReadonlySet<string> = new Set(["items", "additionalProperties"]);

/** Counts, which the format's JSON may write as texts. */
const COUNTS: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);

/**
 * A schema of the vendor's own kind as JSON Schema: types in lower case, `nullable` as a type.
 * Source: https://ai.google.dev/api/caching#Schema
 */
export function jsonSchemaOf({ type, nullable, ...rest }: JsonObject): JsonObject {
  const schema: JsonObject = {};
  const word = typeof type === "string" ? type.toLowerCase() : type;
  if (word !== undefined && word !== "type_unspecified")
    schema.type = nullable === true && typeof word === "string" ? [word, "null"] : word;
  for (const [written, value] of Object.entries(rest)) {
    const name = written.startsWith("$") ? written : fieldName(written);
    if (name === "propertyOrdering") continue;
    if (BY_NAME.has(name) && isJsonObject(value))
      schema[name] = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, within(inner)]));
    else if (IN_A_LIST.has(name) && Array.isArray(value)) schema[name] = value.map(within);
    else if (INSIDE.has(name)) schema[name] = within(value);
    else if (COUNTS.has(name) && typeof value === "string" && /^\d{1,15}$/.test(value))
      schema[name] = Number(value);
    else if (name === "example") schema.examples = [value];
    else schema[name] = value;
  }
  if (Array.isArray(schema.enum) && nullable === true) schema.enum = [...schema.enum, null];
  return schema;
}

function within(value: unknown): unknown {
  return isJsonObject(value) ? jsonSchemaOf(value) : value;
}
