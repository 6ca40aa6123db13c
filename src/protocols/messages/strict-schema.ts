import { isJsonObject, type JsonObject } from "../../core/json-value.ts";

/** Keywords that a schema which binds the model may have as they are. */
const KEPT: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "const",
  "title",
  "description",
  "default",
  "required",
  "$ref",
]);
/** Keywords that hold a schema, a list of them, or schemas by name. */
const HOLDS_SCHEMA: ReadonlySet<string> = new Set(["items"]);
const HOLDS_LIST: ReadonlySet<string> = new Set(["anyOf", "allOf"]);
const HOLDS_NAMED: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
/** Keywords that bind nothing. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(["$schema", "$id", "$comment"]);

const FORMATS: ReadonlySet<unknown> = new Set(
  "date-time time date duration email hostname uri ipv4 ipv6 uuid".split(" "),
);

/**
 * A JSON Schema as the provider takes it where it binds the model: closed objects, and keywords that it refuses
 * (bounds, lengths, patterns) moved into the description, where the model reads them.
 * Source: `transformJSONSchema` of @anthropic-ai/sdk 1.12 for what is taken.
 */
export function strictSchema(schema: Readonly<Record<string, unknown>>): JsonObject {
  const kept: JsonObject = {};
  const moved: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    const taken = takenValue(name, value, schema);
    if (taken !== undefined) kept[taken[0]] = taken[1];
    else if (!SAYS_NOTHING.has(name) && !(name === "additionalProperties" && value === false))
      moved.push(`${name}: ${JSON.stringify(value)}`);
  }
  if (isObjectSchema(schema)) kept.additionalProperties = false;
  if (moved.length === 0) return kept;
  const said = typeof kept.description === "string" ? `${kept.description}\n\n` : "";
  return { ...kept, description: `${said}Must hold: ${moved.join("; ")}` };
}

/** The keyword and its value as they are taken; `undefined` where they are not. */
function takenValue(
  name: string,
  value: unknown,
  schema: Readonly<Record<string, unknown>>,
): readonly [string, unknown] | undefined {
  if (KEPT.has(name)) return [name, value];
  if (HOLDS_SCHEMA.has(name) && isJsonObject(value)) return [name, strictSchema(value)];
  if (HOLDS_LIST.has(name) && Array.isArray(value)) return [name, each(value)];
  if (name === "oneOf" && Array.isArray(value) && schema.anyOf === undefined) return ["anyOf", each(value)];
  if (HOLDS_NAMED.has(name) && isJsonObject(value)) {
    const named = Object.entries(value).map(([key, inner]) => [key, within(inner)] as const);
    return [name, Object.fromEntries(named)];
  }
  if (name === "format" && FORMATS.has(value)) return [name, value];
  if (name === "minItems" && (value === 0 || value === 1)) return [name, value];
  return undefined;
}

function each(values: readonly unknown[]): readonly unknown[] {
  return values.map((value) => within(value));
}

function within(value: unknown): unknown {
  return isJsonObject(value) ? strictSchema(value) : value;
}

function isObjectSchema({ type, properties }: Readonly<Record<string, unknown>>): boolean {
  return type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;
}
