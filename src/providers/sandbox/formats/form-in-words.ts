import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import { objectOf, textsOf } from "../members.ts";

/** More of a text is not looked through, nor more of its objects. */
const MOST_READ = 1_000_000;
const MOST_OBJECTS = 20;

/** Of an example that is deeper than this only the upper part is followed. */
const DEEPEST = 40;

/**
 * The form that an answer shall have. It is a schema, any JSON, or, unless there are tools, what `texts` ask for in
 * words, nearest first.
 */
export function formOf(
  texts: readonly string[],
  asked: { readonly schema: unknown; readonly isJson: boolean; readonly hasTools: boolean },
): JsonObject | undefined {
  if (asked.schema !== undefined) return objectOf(asked.schema);
  if (asked.isJson) return formOfJson(texts);
  return asked.hasTools ? undefined : formAskedFor(texts);
}

/**
 * The form of an answer that shall be any JSON. It is the schema that stands in `texts`, nearest first, or the shape of
 * an example there. It is `{}` where there is neither.
 */
export function formOfJson(texts: readonly string[]): JsonObject {
  const said = texts.flatMap(objectsIn);
  const example = said.find((object) => Object.keys(object).length > 0);
  return said.flatMap(schemasIn)[0] ?? (example === undefined ? {} : shapeOf(example));
}

const ASKS = /\b(answer|respond|reply|return|output|produce|generate|format|conform|match|satisf)/i;

/** The JSON Schema that a text gives for the answer, where it asks for JSON in words; `undefined` where none does. */
export function formAskedFor(texts: readonly string[]): JsonObject | undefined {
  const asking = texts.filter((text) => /json/i.test(text) && ASKS.test(text));
  return asking.flatMap(objectsIn).flatMap(schemasIn)[0];
}

const OPENS = 0x7b;
const CLOSES = 0x7d;

/** The JSON objects in a text that stand in no other, the last first. A single brace hides nothing. */
function objectsIn(text: string): readonly JsonObject[] {
  const read = text.slice(-MOST_READ);
  const open: number[] = [];
  const spans: { start: number; end: number }[] = [];
  for (let at = 0; at < read.length; at += 1) {
    const code = read.charCodeAt(at);
    if (code === OPENS) open.push(at);
    const start = code === CLOSES ? open.pop() : undefined;
    if (start === undefined) continue;
    while ((spans.at(-1)?.start ?? -1) > start) spans.pop();
    spans.push({ start, end: at + 1 });
  }
  const last = spans.slice(-MOST_OBJECTS).toReversed();
  return last.map(({ start, end }) => parse(read.slice(start, end))).filter(isJsonObject);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The JSON Schema that an object is, or that it carries as members of `response_format` do. */
function schemasIn(value: JsonObject): readonly JsonObject[] {
  return [value, objectOf(value.json_schema).schema, value.schema].filter(isJsonObject).filter(isSchema);
}

const TYPE = /^(?:object|array|string|number|integer|boolean|null)$/;

function isSchema(value: JsonObject): boolean {
  const { type = [], properties, items, enum: values, anyOf, oneOf, allOf, $ref, $schema } = value;
  const types = textsOf(type).map((word) => word.toLowerCase());
  const ofSchemas = (list: unknown): boolean => Array.isArray(list) && list.every(isJsonObject);
  const says =
    (isJsonObject(properties) && ofSchemas(Object.values(properties))) ||
    [anyOf, oneOf, allOf].some(ofSchemas) ||
    [$ref, $schema].some((word) => typeof word === "string") ||
    (types.length > 0 && (items !== undefined || Array.isArray(values)));
  return says && types.every((word) => TYPE.test(word));
}

/** A schema of values like this one. A word for a type stands for a value of it: `{"age": "number"}`. */
function shapeOf(value: unknown, depth = 0): JsonObject {
  if (depth > DEEPEST || value === null) return {};
  if (Array.isArray(value))
    return value.length === 0
      ? { type: "array" }
      : { type: "array", minItems: 1, items: shapeOf(value[0], depth + 1) };
  if (isJsonObject(value)) {
    const members = Object.entries(value).map(
      ([name, member]) => [name, shapeOf(member, depth + 1)] as const,
    );
    const properties = Object.fromEntries(members);
    return { type: "object", properties, required: Object.keys(value), additionalProperties: false };
  }
  if (typeof value === "string") return { type: TYPE.test(value) && value !== "null" ? value : "string" };
  return { type: Number.isInteger(value) ? "integer" : typeof value };
}
