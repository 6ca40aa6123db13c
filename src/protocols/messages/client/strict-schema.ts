import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";

const words = (text: string): ReadonlySet<unknown> => new Set(text.split(" "));

/** Keywords that a schema which binds the model may have as they are. */
const KEPT = words("type enum const title description default required $ref");
/** Keywords that hold a list of schemas, or schemas by name. */
const HOLDS_LIST = words("anyOf allOf");
const HOLDS_NAMED = words("properties $defs definitions");
/** Keywords that bind nothing. */
const SAYS_NOTHING = words("$schema $id $comment");

const FORMATS = words("date-time time date duration email hostname uri ipv4 ipv6 uuid");

/**
 * A JSON Schema as the provider takes it where it binds the model. Objects are closed. Keywords that the provider
 * refuses (bounds, lengths, patterns) move into the description, where the model reads them. `lost` gets their names.
 * Source: `transformJSONSchema` of @anthropic-ai/sdk 1.12 for what is taken.
 */
export function strictSchema(
  schema: Readonly<Record<string, unknown>>,
  lost: Set<string> = new Set(),
): JsonObject {
  const kept: JsonObject = {};
  const moved: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    const known = name === "oneOf" && schema.anyOf === undefined ? "anyOf" : name;
    const taken = takenValue(known, value, lost);
    if (taken !== undefined) kept[known] = taken;
    else if (!SAYS_NOTHING.has(name) && !(name === "additionalProperties" && value === false)) {
      moved.push(`${name}: ${JSON.stringify(value)}`);
      lost.add(name);
    }
  }
  if (isObjectSchema(schema)) kept.additionalProperties = false;
  if (moved.length === 0) return kept;
  const said = typeof kept.description === "string" ? `${kept.description}\n\n` : "";
  return { ...kept, description: `${said}Must hold: ${moved.join("; ")}` };
}

/** The value of a keyword as it is taken; `undefined` where it is not. */
function takenValue(name: string, value: unknown, lost: Set<string>): unknown {
  if (KEPT.has(name)) return value;
  if (name === "items" && isJsonObject(value)) return strictSchema(value, lost);
  if (HOLDS_LIST.has(name) && Array.isArray(value)) return value.map((inner) => within(inner, lost));
  if (HOLDS_NAMED.has(name) && isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, within(inner, lost)]));
  const isBound = name === "minItems" && (value === 0 || value === 1);
  return isBound || (name === "format" && FORMATS.has(value)) ? value : undefined;
}

function within(value: unknown, lost: Set<string>): unknown {
  return isJsonObject(value) ? strictSchema(value, lost) : value;
}

function isObjectSchema({ type, properties }: Readonly<Record<string, unknown>>): boolean {
  return type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;
}
