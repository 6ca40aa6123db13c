import type { JsonObject } from "../../core/json-value.ts";
import type { Chance } from "./chance.ts";
import { type FlatSchema, limitOf, openSchema, type SchemaReader, typesOf } from "./flat-schema.ts";
import { listOf, objectOf, textsOf } from "./members.ts";
import { sampleNumber } from "./sample-number.ts";
import { sampleText } from "./sample-text.ts";

/** From this depth on only what must be there is. */
const DEEP = 4;

/** Deeper than this is no value of a schema with an end. */
const DEEPEST = 60;

/** Values in one answer, after which only what must be there is added. */
const ENOUGH_VALUES = 400;

/** Members or items that are made at most, whatever a schema asks for. */
const MOST_PARTS = 2_000;

/**
 * A value that satisfies a JSON Schema, in the words of JSON Schema 2020-12, of its earlier drafts or of OpenAPI. It keeps
 * to types, constants, limits, formats, patterns, what is required, references and `allOf`; of `anyOf` and `oneOf` it takes
 * one. What a value must not be (`not`, `if`) is not looked at.
 */
export function sampleValue(schema: unknown, chance: Chance): unknown {
  return sample({ chance, reader: openSchema(schema), made: { values: 0 } }, schema, 0);
}

interface Sampling {
  readonly chance: Chance;
  readonly reader: SchemaReader;
  readonly made: { values: number };
}

function sample(sampling: Sampling, schema: unknown, depth: number): unknown {
  const { chance, reader, made } = sampling;
  made.values += 1;
  if (depth > DEEPEST || schema === false) return null;
  const sparing = depth >= DEEP || made.values > ENOUGH_VALUES;
  const flat = reader.flatten(schema, (options) => {
    const heights = options.map(reader.heightOf);
    const least = heights.reduce((low, height) => Math.min(low, height), Infinity);
    const fit = options.filter((_, i) => (sparing ? heights[i] === least : heights[i] !== Infinity));
    return chance.pick(fit.length > 0 ? fit : options);
  });
  if (Object.hasOwn(flat, "const")) return flat.const;
  const values = listOf(flat.enum);
  if (values.length > 0) return chance.pick(ofType(values, flat));
  switch (typeOf(flat)) {
    case "object":
      return sampleObject(sampling, flat, depth, sparing);
    case "array":
      return sampleArray(sampling, flat, depth, sparing);
    case "integer":
      return sampleNumber(flat, true, chance);
    case "number":
      return sampleNumber(flat, false, chance);
    case "boolean":
      return chance.flip();
    case "null":
      return null;
    default:
      return sampleText(flat, chance);
  }
}

const OF_OBJECTS = ["properties", "required", "additionalProperties", "minProperties", "patternProperties"];
const OF_ARRAYS = ["items", "prefixItems", "minItems", "contains"];
const OF_NUMBERS = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];

/** The type of a value, where several may be: the first that is not null. Without any, what the other words are of. */
function typeOf(flat: FlatSchema): string {
  const types = typesOf(flat);
  if (types.length > 0) return types.find((type) => type !== "null") ?? "null";
  const has = (names: readonly string[]): boolean => names.some((name) => Object.hasOwn(flat, name));
  if (has(OF_OBJECTS)) return "object";
  if (has(OF_ARRAYS)) return "array";
  return has(OF_NUMBERS) ? "number" : "string";
}

function ofType(values: readonly unknown[], flat: FlatSchema): readonly unknown[] {
  const types = typesOf(flat);
  const fit = values.filter((value) => {
    if (value === null) return types.includes("null");
    if (Array.isArray(value)) return types.includes("array");
    if (typeof value === "number")
      return types.includes("number") || (types.includes("integer") && Number.isInteger(value));
    return types.includes(typeof value);
  });
  return fit.length > 0 ? fit : values;
}

function sampleObject(sampling: Sampling, flat: FlatSchema, depth: number, sparing: boolean): JsonObject {
  const { reader } = sampling;
  const properties = objectOf(flat.properties);
  const required = new Set(textsOf(flat.required));
  const most = limitOf(flat.maxProperties) ?? Infinity;
  const least = Math.min(limitOf(flat.minProperties) ?? 0, MOST_PARTS);
  const names = new Set(required);
  for (const name of Object.keys(properties)) {
    const wanted = names.size < least || (!sparing && properties[name] !== false);
    if (wanted && names.size < most && reader.heightOf(properties[name]) !== Infinity) names.add(name);
  }
  const others = Object.values(objectOf(flat.patternProperties));
  for (let i = 1; names.size < least && flat.additionalProperties !== false; i += 1) names.add(`key${i}`);
  const rest = typeof flat.additionalProperties === "object" ? flat.additionalProperties : (others[0] ?? {});
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      sample(sampling, Object.hasOwn(properties, name) ? properties[name] : rest, depth + 1),
    ]),
  );
}

function sampleArray(
  sampling: Sampling,
  flat: FlatSchema,
  depth: number,
  sparing: boolean,
): readonly unknown[] {
  const { chance, reader } = sampling;
  // Drafts before 2020-12 have the list of the first items in `items`.
  const first = Array.isArray(flat.items) ? listOf(flat.items) : listOf(flat.prefixItems);
  const rest: unknown = Array.isArray(flat.items) ? flat.additionalItems : flat.items;
  const contained = flat.contains === undefined ? 0 : Math.min(limitOf(flat.minContains) ?? 1, MOST_PARTS);
  const least = Math.min(Math.max(limitOf(flat.minItems) ?? 0, contained), MOST_PARTS);
  const most = Math.min(limitOf(flat.maxItems) ?? MOST_PARTS, rest === false ? first.length : MOST_PARTS);
  const wanted = sparing || reader.heightOf(rest) === Infinity ? least : Math.max(least, first.length, 2);
  const count = Math.max(least, Math.min(most, wanted));
  const items: unknown[] = [];
  const seen = new Set<string>();
  for (let i = 0; i < count; i += 1) {
    const own = i < first.length ? first[i] : (rest ?? {});
    const schema = i < contained ? { allOf: [own, flat.contains] } : own;
    const tries = flat.uniqueItems === true ? 60 : 1;
    for (let tried = 1; tried <= tries; tried += 1) {
      const item = sample(sampling, schema, depth + 1);
      const text = JSON.stringify(item);
      if (flat.uniqueItems === true && seen.has(text) && (tried < tries || i >= least)) continue;
      seen.add(text);
      items.push(item);
      break;
    }
  }
  return chance.flip() || first.length > 0 || contained > 0 ? items : items.toReversed();
}
