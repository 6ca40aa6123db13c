import { isJsonObject, type JsonObject } from "../core/json/json-value.ts";

/** Keywords that hold a list of schemas, or schemas by name. */
const LISTS = ["anyOf", "allOf", "oneOf"] as const;
const NAMED = ["properties", "$defs", "definitions"] as const;

/**
 * A schema that servers of the format bind a model by: every object in it closed. `undefined` where an object has a member
 * that may be left out, or any others: such a schema they refuse to bind by.
 * Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
 */
export function closedSchema(schema: Readonly<JsonObject>): JsonObject | undefined {
  const { properties, required, type, additionalProperties: others = false } = schema;
  const isObject =
    type === "object" || (Array.isArray(type) && type.includes("object")) || isJsonObject(properties);
  const names = isJsonObject(properties) ? Object.keys(properties) : [];
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  if (isObject && (others !== false || !names.every((name) => needed.has(name)))) return undefined;
  const closed: JsonObject = isObject ? { ...schema, additionalProperties: false } : { ...schema };
  let isBinding = true;
  const within = (value: unknown): unknown => {
    if (!isJsonObject(value)) return value;
    const inner = closedSchema(value);
    if (inner === undefined) isBinding = false;
    return inner;
  };
  if (closed.items !== undefined) closed.items = within(closed.items);
  for (const name of LISTS) {
    const list = closed[name];
    if (Array.isArray(list)) closed[name] = list.map(within);
  }
  for (const name of NAMED) {
    const held = closed[name];
    if (isJsonObject(held))
      closed[name] = Object.fromEntries(Object.entries(held).map(([key, value]) => [key, within(value)]));
  }
  return isBinding ? closed : undefined;
}
