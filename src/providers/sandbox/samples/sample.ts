import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import type { Chance } from "../chance.ts";
import { flatten, limitOf, openSchema, type SchemaRoot, sizeOf, typesOf } from "./json-schema.ts";
import { listOf, objectOf, textsOf } from "../members.ts";
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
 * one. What a value must not be (`not`, `if`) is not looked at. `null` where there is none within bounds.
 */
export function sampleValue(schema: unknown, chance: Chance): unknown {
  const within = openSchema(schema);
  const tooDeep = new Map<unknown, number>();
  // A schema that leads back to itself has values of any depth: the first that is enough is taken.
  for (let deepest = DEEP; deepest <= DEEPEST; deepest += 1) {
    const value = sample({ within, chance, tooDeep, deepest, values: 0 }, schema, 0);
    if (value !== undefined) return value;
  }
  return null;
}

interface Sampling {
  readonly within: SchemaRoot;
  readonly chance: Chance;
  readonly deepest: number;
  /** Schemas with the most levels in which they were found to have no value. */
  readonly tooDeep: Map<unknown, number>;
  /** Values made so far. */
  values: number;
}

/** A value; `undefined` where there is none within the depth. */
function sample(sampling: Sampling, schema: unknown, depth: number): unknown {
  const { within, chance, tooDeep, deepest } = sampling;
  const levels = deepest - depth;
  if (schema === false || levels < 0 || levels <= (tooDeep.get(schema) ?? -1)) return undefined;
  const turn = chance.between(0, 1_000);
  let options = 1;
  for (let tried = 0; tried < options && within.work > 0; tried += 1) {
    const flat = flatten(within, schema, (among) => {
      options = Math.max(options, among.length);
      return among[(turn + tried) % among.length];
    });
    within.work -= sizeOf(flat);
    const value = sampleFlat(sampling, flat, depth);
    if (typeof value === "string") within.work -= value.length;
    if (value !== undefined) return value;
  }
  if (isJsonObject(schema) && within.work > 0) tooDeep.set(schema, levels);
  return undefined;
}

function sampleFlat(sampling: Sampling, flat: JsonObject, depth: number): unknown {
  const { chance } = sampling;
  sampling.values += 1;
  if (Object.hasOwn(flat, "const")) return flat.const;
  const values = listOf(flat.enum);
  if (values.length > 0) {
    const fit = values.filter((value) => isOfType(value, typesOf(flat)));
    return chance.pick(fit.length > 0 ? fit : values);
  }
  const isSparing = depth >= DEEP || sampling.values > ENOUGH_VALUES;
  const inner: Inner = (schema) => sample(sampling, schema, depth + 1);
  const type = typeOf(flat);
  switch (type) {
    case "object":
      return sampleObject(flat, isSparing, inner);
    case "array":
      return sampleArray(flat, isSparing, inner);
    case "integer":
    case "number":
      return sampleNumber(flat, type === "integer", chance);
    case "boolean":
      return chance.flip();
    case "null":
      return null;
    default:
      return sampleText(flat, chance);
  }
}

/** A value within another; `undefined` where there is none. */
type Inner = (schema: unknown) => unknown;

function isOfType(value: unknown, types: readonly string[]): boolean {
  if (value === null) return types.includes("null");
  if (Array.isArray(value)) return types.includes("array");
  return types.includes(typeof value) || (Number.isInteger(value) && types.includes("integer"));
}

/** What words other than `type` are of; else a value is text. */
const WORDS_OF_TYPES = {
  object: ["properties", "required", "additionalProperties", "minProperties", "patternProperties"],
  array: ["items", "prefixItems", "minItems", "contains"],
  number: ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
} as const;

/** The type of a value, where several may be: the first that is not null. */
function typeOf(flat: JsonObject): string | undefined {
  const types = typesOf(flat);
  if (types.length > 0) return types.find((type) => type !== "null") ?? "null";
  return Object.entries(WORDS_OF_TYPES).find(([, words]) =>
    words.some((word) => Object.hasOwn(flat, word)),
  )?.[0];
}

function sampleObject(flat: JsonObject, isSparing: boolean, inner: Inner): JsonObject | undefined {
  const properties = new Map(Object.entries(objectOf(flat.properties)));
  const required = new Set(textsOf(flat.required));
  const least = Math.min(limitOf(flat.minProperties) ?? 0, MOST_PARTS);
  const most = limitOf(flat.maxProperties) ?? Infinity;
  const { additionalProperties: others, patternProperties } = flat;
  const other = isJsonObject(others) ? others : (Object.values(objectOf(patternProperties))[0] ?? {});
  const made = new Map<string, unknown>();
  for (const name of new Set([...required, ...properties.keys()])) {
    const isWanted = made.size < most && (!isSparing || made.size < least);
    if (!required.has(name) && !isWanted) continue;
    const value = inner(properties.has(name) ? properties.get(name) : other);
    if (value !== undefined) made.set(name, value);
    else if (required.has(name)) return undefined;
  }
  for (let i = 1; made.size < least && others !== false; i += 1) {
    const value = inner(other);
    if (value === undefined) return undefined;
    made.set(`key${i}`, value);
  }
  return Object.fromEntries(made);
}

/** So often another item is tried where all have to differ. */
const TRIES = 60;

function sampleArray(flat: JsonObject, isSparing: boolean, inner: Inner): readonly unknown[] | undefined {
  // Drafts before 2020-12 have the list of the first items in `items`.
  const isOld = Array.isArray(flat.items);
  const first = listOf(isOld ? flat.items : flat.prefixItems);
  const rest = isOld ? flat.additionalItems : flat.items;
  const contained = flat.contains === undefined ? 0 : Math.min(limitOf(flat.minContains) ?? 1, MOST_PARTS);
  const least = Math.min(Math.max(limitOf(flat.minItems) ?? 0, contained), MOST_PARTS);
  const most = Math.min(limitOf(flat.maxItems) ?? MOST_PARTS, rest === false ? first.length : MOST_PARTS);
  const wanted = isSparing ? least : Math.max(least, first.length, 2);
  const items = new Map<string, unknown>();
  for (let i = 0; i < Math.max(least, Math.min(most, wanted)); i += 1) {
    const own = i < first.length ? first[i] : (rest ?? {});
    const schema = i < contained ? { allOf: [own, flat.contains] } : own;
    for (let tried = 1; tried <= TRIES && items.size === i; tried += 1) {
      const item = inner(schema);
      if (item === undefined) return i < least ? undefined : [...items.values()];
      items.set(flat.uniqueItems === true ? JSON.stringify(item) : String(i), item);
    }
  }
  return [...items.values()];
}

/** How far a number goes beyond the only limit that it has. */
const SPAN = 100;

/** A number within the limits of a schema, and a multiple of what it asks for. */
function sampleNumber(flat: JsonObject, isWhole: boolean, chance: Chance): number {
  const [minimum, maximum] = [limitOf(flat.minimum), limitOf(flat.maximum)];
  // In draft 4 these are words on the limit itself.
  const above = flat.exclusiveMinimum === true ? minimum : limitOf(flat.exclusiveMinimum);
  const below = flat.exclusiveMaximum === true ? maximum : limitOf(flat.exclusiveMaximum);
  const least = Math.max(minimum ?? -Infinity, above ?? -Infinity);
  const most = Math.min(maximum ?? Infinity, below ?? Infinity);
  const fits = (value: number): boolean =>
    value >= least && value <= most && value !== above && value !== below;
  const step = limitOf(flat.multipleOf) ?? (isWhole ? 1 : 0);
  const span = Math.max(SPAN, step * 10);
  const low = least > -Infinity ? least : Math.min(0, most - span);
  const high = most < Infinity ? most : low + span;
  if (step <= 0) {
    const middle = low + ((high - low) * chance.between(1, 99)) / 100;
    return [Math.round(middle), Math.round(middle * 100) / 100, middle, low, high].find(fits) ?? low;
  }
  const from = Math.ceil(low / step);
  const count = Math.max(1, Math.floor(high / step) - from + 1);
  const start = chance.between(0, count - 1);
  // Of fractions not every product is a multiple to the last digit.
  for (let i = 0; i < Math.min(MOST_PARTS, count); i += 1) {
    const value = Number(((from + ((start + i) % count)) * step).toPrecision(15));
    const isMultiple = Number.isInteger(value / step) && (!isWhole || Number.isInteger(value));
    // Zero has no sign in JSON.
    if (isMultiple && fits(value)) return value === 0 ? 0 : value;
  }
  return isWhole ? Math.ceil(low) : low;
}
