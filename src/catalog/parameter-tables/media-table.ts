import { type TObject, type TSchema, Type } from "typebox";
import type { MediaFacts } from "../../core/media/media-model.ts";
import { eitherWay, type JsonSchema, type Parameter } from "./parameter.ts";

/** A field that has one of some words, and one of them when it is left out. */
export const words = <const Values extends readonly [string, ...string[]]>(
  values: Values,
  otherwise: Values[number],
  description: string,
) => Type.Optional(Type.Enum<[...Values]>([...values], { type: "string", default: otherwise, description }));

/** A field that has a whole number within bounds, and this one when it is left out. */
export const whole = (
  [minimum, maximum]: readonly [number, number],
  otherwise: number,
  description: string,
) => Type.Optional(Type.Integer({ minimum, maximum, default: otherwise, description }));

/** So descriptions of media end that can be links; of those that can be something else too, the rest is behind it. */
export const AS_LINKS = ", as links";

/** The fields of an endpoint that makes images or videos, as the interface has them for all of its models. */
export interface MediaTable {
  /** Types, ranges and defaults; each field's description says what it does, without a full stop. */
  readonly fields: TObject;
  /** What the gateway sees to, whatever the model. */
  readonly always: ReadonlySet<string>;
  /** Other spellings of a field's values, by the values that the model takes. */
  readonly spellings: Readonly<Record<string, (values: readonly string[]) => readonly unknown[]>>;
}

/** What of a model its parameters depend on. */
export interface Taker {
  readonly id: string;
  readonly media?: Pick<MediaFacts, "parameters">;
}

/** The fields of the table as a model takes them, those it does not take among them as the interface has them. */
export function mediaParameters(table: MediaTable, model: Taker): readonly Parameter[] {
  const required: readonly string[] = table.fields.required ?? [];
  return Object.entries(fieldsOf(table)).map(([name, { description = "", ...field }]): Parameter => {
    const schema = narrowed(name, field, model);
    const values = wordsOf(schema);
    const also = values === undefined ? undefined : table.spellings[name]?.(values);
    const { required: isOwn = false, linksOnly = false } = model.media?.parameters[name] ?? {};
    const parameter = {
      name,
      schema,
      does: linksOnly ? onlyLinks(String(description)) : String(description),
    };
    const isRequired = required.includes(name) || isOwn;
    return Object.assign(
      parameter,
      also === undefined ? {} : { also: { enum: also } },
      isRequired ? { required: true as const } : {},
    );
  });
}

function onlyLinks(description: string): string {
  const at = description.indexOf(AS_LINKS);
  return at === -1 ? description : description.slice(0, at + AS_LINKS.length);
}

/** Whether the model, or the gateway for it, takes a field. */
export function takesField(table: MediaTable, model: Taker, name: string): boolean {
  return table.always.has(name) || Object.hasOwn(model.media?.parameters ?? {}, name);
}

/** A request's body as it is taken for all models, each value in every spelling: for whoever describes the endpoint. */
export function bodySchemaOf(table: MediaTable): TSchema {
  const properties = Object.entries(fieldsOf(table)).map(([name, field]) => {
    const words = wordsOf(field) ?? [];
    const also = table.spellings[name]?.(words).filter((value) => !words.some((word) => word === value));
    return [name, also === undefined ? field : eitherWay(field, { enum: also })];
  });
  return { ...table.fields, properties: Object.fromEntries(properties) };
}

/** The fields by name, each as a JSON Schema. */
export function fieldsOf(table: MediaTable): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(
    Object.entries(table.fields.properties).map(([name, schema]) => [name, { ...schema }]),
  );
}

/** The words that a field can have; `undefined` where it has other values. */
export function wordsOf({ enum: values }: JsonSchema): readonly string[] | undefined {
  return Array.isArray(values) ? values.filter((value) => typeof value === "string") : undefined;
}

function narrowed(name: string, field: JsonSchema, { id, media }: Taker): JsonSchema {
  if (name === "model") return { ...field, const: id };
  const limits = media?.parameters[name];
  if (limits === undefined) return field;
  const { values, default: own, maxLength, maxItems, required } = limits;
  return {
    ...field,
    ...(values === undefined ? {} : { enum: values }),
    ...(own === undefined ? {} : { default: own }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(field.type === "array" && required ? { minItems: 1 } : {}),
    ...(maxItems === undefined ? {} : { maxItems }),
  };
}
