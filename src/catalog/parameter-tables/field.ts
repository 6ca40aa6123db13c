import { type TProperties, type TSchema, type TSchemaOptions, Type } from "typebox";
import type { ChatRequest } from "../../core/chat.ts";
import { present } from "../../core/json/json-value.ts";
import type { JsonSchema, Parameter, ParameterFacts } from "./parameter.ts";

/**
 * What the gateway does with a field of a request. Every field that upstream can be sent is in the table of its format.
 * The gateway removes any other with a warning, unless the provider takes unknown fields.
 *
 * - `free`, and where nothing is said: does not change the price of the tokens it leads to.
 * - `priced`: changes the price; refused unless its value is one of the free ones.
 * - `gateway`: a field of our interface that the reference does not have; a native provider is sent its meaning.
 * - `preview`: a field that its provider takes only from those who ask for this preview. `needed` is the 400 of one
 *   without which the answer would be another one; others are left out.
 */
type FieldRule =
  | { readonly rule?: "free" }
  | { readonly rule: "priced"; readonly freeValues: readonly unknown[] }
  | { readonly rule: "gateway" }
  | { readonly rule: "preview"; readonly preview: string; readonly needed?: string };

/** A field of a language format: how it is checked, relayed and documented. */
export type Field = FieldRule & FieldFacts;

interface FieldFacts {
  /** What requests are checked by; absent where providers judge. */
  readonly schema?: TSchema;
  /** It must be sent. */
  readonly required?: true;
  /** It belongs to the input, so that a request to count it has it too. */
  readonly counted?: true;
  /** Where a request of no format has it; `wire` is what only says how it is asked. Absent: it has no place there. */
  readonly place?: keyof ChatRequest | "wire";
  /** Every server of the format takes it, or can go without it. */
  readonly basic?: true;
  /** Without it the answer would be another one: where it cannot be had it is refused, not left out. */
  readonly meaning?: Meaning;
  /** What other interfaces call it, with spaces between. */
  readonly otherNames?: string;
  /** What it does, as a sentence without its full stop; `undefined` where a page does not tell of it. */
  readonly does?: string | ((model: ParameterFacts) => string | undefined);
  /** How a page has its schema, where that is not `pageSchema` of what is checked. */
  readonly shown?: (schema: JsonSchema, model: ParameterFacts) => JsonSchema;
  /** The fields inside it that pages or other names tell of; of what schema they are, its own says. */
  readonly members?: Fields;
}

interface Meaning {
  /** What a provider of the format that does not take the field cannot be asked; absent: it is left out with a warning. */
  readonly asks?: (value: unknown) => boolean;
  /** All that a translation can leave out; absent: what does not ask. */
  readonly asksNothing?: (value: unknown) => boolean;
  /** What the caller can do; absent: leave it out. */
  readonly instead?: string;
}

/** The fields of a format, in the order in which pages tell of them. */
export type Fields = Readonly<Record<string, Field>>;

/** What is known of a field; `undefined` where it is none of these, like what every object inherits. */
export function fieldOf(fields: Fields, name: string): Field | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** The fields that say what stands in one place of a request of no format. */
export function fieldsAt(fields: Fields, place: keyof ChatRequest): readonly string[] {
  return Object.keys(fields).filter((name) => fields[name]?.place === place);
}

/** The fields by the place of what they say; of several in one place the last. */
export function placeNames<const Of extends Fields>(
  fields: Of,
): Readonly<Record<PlaceOf<Of[keyof Of]>, string>> {
  const names = Object.entries(fields).flatMap(([name, { place }]) =>
    place === undefined ? [] : [[place, name]],
  );
  return Object.fromEntries(names) as Record<PlaceOf<Of[keyof Of]>, string>;
}

type PlaceOf<One> = One extends { readonly place: infer Place extends string } ? Place : never;

/** A member that may also be null, which says the same as leaving it out. */
export const nullable = <S extends TSchema>(schema: S) => Type.Optional(Type.Union([schema, Type.Null()]));

/** An object of these members and any others. */
export const open = <const Members extends TProperties>(members: Members, options: TSchemaOptions = {}) =>
  Type.Object(members, { ...options, additionalProperties: true });

/** What the fields are checked by, those that are not left to providers. */
type Schemas<Of> = {
  [Name in keyof Of as Of[Name] extends { readonly schema: TSchema } ? Name : never]: SchemaOf<Of[Name]>;
};

type SchemaOf<One> = One extends { readonly schema: infer Schema extends TSchema }
  ? One extends { readonly required: true }
    ? Schema
    : Type.TOptional<Schema>
  : never;

/** An object of these fields; others are looked up in the table of their format. */
export function objectOf<const Of extends Fields>(fields: Of, options: TSchemaOptions = {}) {
  const checked = Object.entries(fields).flatMap(([name, { schema, required }]) =>
    schema === undefined ? [] : [[name, required ? schema : Type.Optional(schema)] as const],
  );
  return open(Object.fromEntries(checked) as Schemas<Of>, options);
}

/** The fields that a request to count has. */
type Counted<Of> = {
  [Name in keyof Of as Of[Name] extends { readonly counted: true } ? Name : never]: Of[Name];
};

/** The fields of a request to count. */
export function countedOf<const Of extends Fields>(fields: Of): Counted<Of> {
  return Object.fromEntries(Object.entries(fields).filter(([, { counted }]) => counted)) as Counted<Of>;
}

/** Every field, each followed by those inside it, by its path and with what it is checked by. */
export function* eachField(fields: Fields, within?: PlacedField): Generator<PlacedField> {
  for (const [name, field] of Object.entries(fields)) {
    const path = within === undefined ? name : `${within.path}.${name}`;
    const { properties } = { ...within?.schema } as {
      readonly properties?: Readonly<Record<string, TSchema>>;
    };
    const placed = { path, field, schema: field.schema ?? properties?.[name] };
    yield placed;
    yield* eachField(field.members ?? {}, placed);
  }
}

interface PlacedField {
  readonly path: string;
  readonly field: Field;
  readonly schema: TSchema | undefined;
}

/** The parameters of a model in a format, in the order of its table. */
export function fieldParameters(fields: Fields, model: ParameterFacts): readonly Parameter[] {
  return [...eachField(fields)].flatMap(({ path: name, field, schema: checked }) => {
    const does = typeof field.does === "function" ? field.does(model) : field.does;
    if (does === undefined) return [];
    const schema = pageSchema({ ...checked });
    const shown = field.shown === undefined ? schema : field.shown(schema, model);
    return [{ name, schema: shown, does, ...present({ required: field.required }) }];
  });
}

/**
 * What is checked, as pages have it. It lacks null, which says the same as leaving a field out. Of an object it has
 * only the members that the object must have.
 */
function pageSchema(checked: JsonSchema): JsonSchema {
  const { anyOf, enum: words, required = [] } = checked;
  if (Array.isArray(anyOf)) {
    const [only, ...others] = anyOf.filter(({ type }: JsonSchema) => type !== "null").map(pageSchema);
    return others.length === 0 ? { ...only } : { anyOf: [only, ...others] };
  }
  if (words !== undefined) return { type: "string", enum: words };
  const shown = Object.entries(checked).flatMap(([name, value]): (readonly [string, unknown])[] => {
    if (name === "description" || name === "additionalProperties") return [];
    if (name === "items") return [[name, pageSchema(value as JsonSchema)]];
    if (name !== "properties") return [[name, value]];
    const members = Object.entries(value as Readonly<Record<string, JsonSchema>>)
      .filter(([member]) => (required as readonly string[]).includes(member))
      .map(([member, schema]) => [member, pageSchema(schema)]);
    return members.length === 0 ? [] : [[name, Object.fromEntries(members)]];
  });
  return Object.fromEntries(shown);
}
