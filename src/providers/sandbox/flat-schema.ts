import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { fieldNames, listOf, numberOf, objectOf, objectsOf, textsOf } from "./members.ts";

/** A JSON Schema as it applies in one place: no references, and nothing joined by `allOf`, `anyOf` or `oneOf`. */
export type FlatSchema = JsonObject;

/** Picks one of several schemas of which a value has to satisfy one. */
export type PickOption = (options: readonly unknown[]) => unknown;

/** One schema and what its references lead to. */
export interface SchemaReader {
  /** Draws everything together that a schema says of its place; of alternatives one is taken. */
  flatten(schema: unknown, pick: PickOption): FlatSchema;
  /** How deep the smallest value of a schema is; Infinity where it has no end. */
  heightOf(schema: unknown): number;
}

/** Steps through the parts of a schema, after which the rest of it counts as saying nothing: a small one can lead on for ever. */
const MOST_STEPS = 20_000;

/** Members and values that joining schemas goes over in all, after which what is joined adds nothing. */
const MOST_JOINED = 200_000;

/** A reader of schemas that stand within `root`. */
export function openSchema(root: unknown): SchemaReader {
  const steps = { flatten: 0, height: 0, joined: 0 };
  const heights = new Map<object, number>();

  const flatten = (schema: unknown, pick: PickOption, depth: number): FlatSchema => {
    steps.flatten += 1;
    if (!isJsonObject(schema) || depth > 64 || steps.flatten > MOST_STEPS) return {};
    const { $ref, allOf, anyOf, oneOf, ...own } = schema;
    let flat: FlatSchema = own;
    const join = (other: unknown): void => {
      if (steps.joined > MOST_JOINED) return;
      const more = flatten(other, pick, depth + 1);
      steps.joined += sizeOf(flat) + sizeOf(more);
      if (steps.joined <= MOST_JOINED) flat = merge(flat, more);
    };
    if (typeof $ref === "string") join(referred($ref, root));
    for (const part of listOf(allOf)) join(part);
    for (const options of [listOf(anyOf), listOf(oneOf)]) if (options.length > 0) join(pick(options));
    return flat;
  };

  const heightOf = (schema: unknown): number => {
    if (!isJsonObject(schema)) return 0;
    const seen = heights.get(schema);
    if (seen !== undefined) return seen;
    steps.height += 1;
    // While it is being measured it has no end: a way that leads back here is no way out.
    heights.set(schema, Infinity);
    const height = steps.height > MOST_STEPS ? Infinity : measured(schema, heightOf, root);
    if (height === Infinity) heights.delete(schema);
    else heights.set(schema, height);
    return height;
  };

  return { flatten: (schema, pick) => flatten(schema, pick, 0), heightOf };
}

/** What `#/$defs/name` stands for; any value where it is not in this schema. */
function referred(ref: string, root: unknown): unknown {
  if (!ref.startsWith("#")) return {};
  let place: unknown = root;
  for (const part of unescaped(ref.slice(1)).split("/").slice(1)) {
    const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(place)) place = (place as readonly unknown[])[Number(key)];
    else place = isJsonObject(place) && Object.hasOwn(place, key) ? place[key] : undefined;
  }
  return place ?? {};
}

function unescaped(pointer: string): string {
  try {
    return decodeURIComponent(pointer);
  } catch {
    return pointer;
  }
}

/** The types that a schema allows, in lower case as JSON Schema has them (OpenAPI's dialect has them in capitals). */
export function typesOf(schema: FlatSchema): readonly string[] {
  return textsOf(schema.type).map((type) => type.toLowerCase());
}

/** A number of a schema; int64 of Protocol Buffers is written as text. */
export function limitOf(value: unknown): number | undefined {
  if (typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value)) return Number(value);
  return numberOf(value);
}

const LEAST = fieldNames("minimum exclusiveMinimum minLength minItems minProperties minContains");
const MOST = fieldNames("maximum exclusiveMaximum maxLength maxItems maxProperties");

/** Members of a schema, and of those that grow when schemas are joined. */
function sizeOf(schema: FlatSchema): number {
  const { properties, patternProperties, enum: values, required } = schema;
  const members = [schema, properties, patternProperties].map((value) => Object.keys(objectOf(value)).length);
  return members.reduce((sum, count) => sum + count, listOf(values).length + listOf(required).length);
}

/** Both schemas at once. */
function merge(a: FlatSchema, b: FlatSchema): FlatSchema {
  const merged: Record<string, unknown> = { ...a };
  for (const [name, value] of Object.entries(b)) {
    const known = Object.hasOwn(a, name) ? a[name] : undefined;
    merged[name] = known === undefined ? value : both(name, known, value);
  }
  return merged;
}

function both(name: string, a: unknown, b: unknown): unknown {
  if (LEAST.has(name) && typeof a === "number" && typeof b === "number") return Math.max(a, b);
  if (MOST.has(name) && typeof a === "number" && typeof b === "number") return Math.min(a, b);
  switch (name) {
    case "type": {
      const others = typesOf({ type: b });
      const shared = typesOf({ type: a }).filter(
        (type) => others.includes(type) || (type === "integer" && others.includes("number")),
      );
      return shared.length > 0 ? shared : others;
    }
    case "enum": {
      const others = new Set(listOf(b).map((value) => JSON.stringify(value)));
      return listOf(a).filter((value) => others.has(JSON.stringify(value)));
    }
    case "required":
      return [...new Set([...textsOf(a), ...textsOf(b)])];
    case "properties":
    case "patternProperties": {
      const properties = Object.entries(objectOf(b)).map(
        ([key, schema]) =>
          [key, Object.hasOwn(objectOf(a), key) ? { allOf: [objectOf(a)[key], schema] } : schema] as const,
      );
      return { ...objectOf(a), ...Object.fromEntries(properties) };
    }
    case "items":
    case "additionalProperties":
      if (a === false || b === false) return false;
      return { allOf: [a, b] };
    default:
      return b;
  }
}

function measured(schema: JsonObject, of: (part: unknown) => number, root: unknown): number {
  const deepest = (parts: readonly unknown[]): number =>
    parts.reduce<number>((most, part) => Math.max(most, of(part)), 0);
  const shallowest = (parts: readonly unknown[]): number =>
    parts.length === 0 ? 0 : parts.reduce<number>((least, part) => Math.min(least, of(part)), Infinity);
  const properties = objectOf(schema.properties);
  const needed = textsOf(schema.required).map((name) => properties[name]);
  const items = (limitOf(schema.minItems) ?? 0) > 0 ? [schema.items] : [];
  const within = [...needed, ...items];
  return Math.max(
    typeof schema.$ref === "string" ? of(referred(schema.$ref, root)) : 0,
    deepest(objectsOf(schema.allOf)),
    shallowest(listOf(schema.anyOf)),
    shallowest(listOf(schema.oneOf)),
    within.length === 0 ? 0 : 1 + deepest(within),
  );
}
