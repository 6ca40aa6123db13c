import { unescape } from "node:querystring";
import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import { listOf, numberOf, objectOf, textsOf } from "../members.ts";

/** Schemas and members that one sample may go through, and characters it may make: some have no end. */
const MOST_WORK = 1_000_000;

/** A schema with what its references lead to, and the work that is left. */
export interface SchemaRoot {
  readonly root: unknown;
  work: number;
}

/** A schema of which nothing was read yet. */
export function openSchema(root: unknown): SchemaRoot {
  return { root, work: MOST_WORK };
}

/**
 * All that a JSON Schema says of its place in one object without references, `allOf`, `anyOf` and `oneOf`. Of
 * alternatives it takes what `pick` picks.
 */
export function flatten(
  within: SchemaRoot,
  schema: unknown,
  pick: (options: readonly unknown[]) => unknown,
  depth = 0,
): JsonObject {
  within.work -= 1;
  if (!isJsonObject(schema) || depth > 64 || within.work < 0) return {};
  const { $ref, allOf, anyOf, oneOf, ...own } = schema;
  const others = [
    ...(typeof $ref === "string" ? [referred($ref, within.root)] : []),
    ...listOf(allOf),
    ...[listOf(anyOf), listOf(oneOf)].filter((options) => options.length > 0).map(pick),
  ];
  let flat: JsonObject = own;
  for (const other of others) {
    const more = flatten(within, other, pick, depth + 1);
    within.work -= sizeOf(flat) + sizeOf(more);
    if (within.work < 0) break;
    flat = join(flat, more, both);
  }
  return flat;
}

/** What `#/$defs/name` stands for; any value where it is not in this schema. */
function referred(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#")) return {};
  let place: unknown = root;
  for (const part of unescape(ref.slice(1)).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = typeof place === "object" && place !== null && Object.hasOwn(place, key);
    place = isThere ? (place as JsonObject)[key] : undefined;
  }
  return place ?? {};
}

/** The types that a schema allows, in lower case as JSON Schema has them (OpenAPI's dialect has them in capitals). */
export function typesOf(schema: JsonObject): readonly string[] {
  return textsOf(schema.type).map((type) => type.toLowerCase());
}

/** A number of a schema; int64 of Protocol Buffers is written as text. */
export function limitOf(value: unknown): number | undefined {
  if (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  return numberOf(value);
}

/** Members of a schema, and of those that grow when schemas are joined. */
export function sizeOf(schema: JsonObject): number {
  const { properties, patternProperties, enum: values, required } = schema;
  const members = [schema, properties, patternProperties].map((value) => Object.keys(objectOf(value)).length);
  return members.reduce((sum, count) => sum + count, listOf(values).length + listOf(required).length);
}

/** All members of both; `both` says what becomes of those that both have. */
function join(a: unknown, b: unknown, both: (name: string, a: unknown, b: unknown) => unknown): JsonObject {
  const joined = new Map(Object.entries(objectOf(a)));
  for (const [name, value] of Object.entries(objectOf(b)))
    joined.set(name, joined.has(name) ? both(name, joined.get(name), value) : value);
  return Object.fromEntries(joined);
}

/** What a word says that two schemas have. */
function both(name: string, a: unknown, b: unknown): unknown {
  if (Object.hasOwn(RULES, name)) return RULES[name]?.(a, b);
  const limit = /^(?:exclusive)?(min|max)/i.exec(name)?.[1]?.toLowerCase();
  if (limit === undefined || typeof a !== "number" || typeof b !== "number") return b;
  return limit === "min" ? Math.max(a, b) : Math.min(a, b);
}

type Rule = (a: unknown, b: unknown) => unknown;

const types: Rule = (a, b) => {
  const others = typesOf({ type: b });
  const shared = typesOf({ type: a }).filter(
    (type) => others.includes(type) || (type === "integer" && others.includes("number")),
  );
  return shared.length > 0 ? shared : others;
};

const values: Rule = (a, b) => {
  const others = new Set(listOf(b).map((value) => JSON.stringify(value)));
  return listOf(a).filter((value) => others.has(JSON.stringify(value)));
};

const schemas: Rule = (a, b) => (a === false || b === false ? false : { allOf: [a, b] });

const members: Rule = (a, b) => join(a, b, (_, ...allOf) => ({ allOf }));

/** How two values of a word hold at once; of words that are not here the later one counts. */
const RULES: Readonly<Record<string, Rule>> = {
  type: types,
  enum: values,
  required: (a, b) => [...new Set([...textsOf(a), ...textsOf(b)])],
  properties: members,
  patternProperties: members,
  items: schemas,
  additionalProperties: schemas,
};
