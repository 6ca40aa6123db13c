import { grouped } from "../format/numbers.ts";

/** A part of a JSON Schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** How a value is asked for. */
export type FieldKind =
  | { readonly kind: "choice"; readonly among: readonly (string | number | boolean | null)[] }
  | { readonly kind: "boolean" }
  | {
      readonly kind: "number";
      readonly isInteger: boolean;
      readonly least: number | undefined;
      readonly most: number | undefined;
    }
  | { readonly kind: "text"; readonly isLong: boolean; readonly most: number | undefined }
  /** Texts, one a line. */
  | {
      readonly kind: "texts";
      readonly most: number | undefined;
      readonly among: readonly unknown[] | undefined;
    }
  | { readonly kind: "group"; readonly fields: readonly SchemaField[] }
  /** A shape that has no control of its own. */
  | { readonly kind: "json" };

/** A member of an object, as a form asks for it. */
export interface SchemaField {
  readonly name: string;
  readonly hint: string | undefined;
  readonly isRequired: boolean;
  /** What holds where nothing is given, as it is shown; absent: the schema says none. */
  readonly placeholder: string | undefined;
  readonly control: FieldKind;
}

/** What an input came to: a value, nothing where it is empty, or what is wrong with it. */
export type Reading = { readonly value: unknown } | { readonly fault: string } | undefined;

/** A text that may be longer than this is asked for in several lines. */
const LONG = 500;

/** The fields for the members of an object's schema but those `without`. */
export function fieldsOf(schema: Schema, without: readonly string[] = []): readonly SchemaField[] {
  const required = Array.isArray(schema.required) ? schema.required : [];
  return Object.entries(schemaOf(schema.properties) ?? {})
    .filter(([name]) => !without.includes(name))
    .map(([name, member]) => {
      const part = schemaOf(member) ?? {};
      return {
        name,
        hint: typeof part.description === "string" ? part.description : undefined,
        isRequired: required.includes(name),
        placeholder: part.default === undefined ? undefined : asTyped(controlOf(part), part.default),
        control: controlOf(part),
      };
    });
}

function controlOf(part: Schema): FieldKind {
  if (Array.isArray(part.enum)) return { kind: "choice", among: part.enum };
  if (part.const !== undefined) return { kind: "choice", among: [part.const as string] };
  const either = part.anyOf ?? part.oneOf;
  if (Array.isArray(either) && part.properties === undefined) return controlOfEither(either);
  const types = typesOf(part).filter((type) => type !== "null");
  if (types.length !== 1) return { kind: "json" };
  const isNullable = typesOf(part).includes("null");
  switch (types[0]) {
    case "boolean":
      return isNullable ? { kind: "choice", among: [true, false, null] } : { kind: "boolean" };
    case "integer":
    case "number":
      return {
        kind: "number",
        isInteger: types[0] === "integer",
        least: numberOf(part.minimum),
        most: numberOf(part.maximum),
      };
    case "string": {
      const most = numberOf(part.maxLength);
      return { kind: "text", isLong: (most ?? 0) > LONG, most };
    }
    case "array":
      return textsOf(schemaOf(part.items), numberOf(part.maxItems));
    case "object": {
      const fields = fieldsOf(part);
      return fields.length === 0 || fields.some(({ control }) => control.kind === "json")
        ? { kind: "json" }
        : { kind: "group", fields };
    }
    default:
      return { kind: "json" };
  }
}

/** Several shapes: choices of each kind are one choice, a text among a list of texts is such a list. */
function controlOfEither(shapes: readonly unknown[]): FieldKind {
  const parts = shapes.map((shape) => schemaOf(shape) ?? {}).filter(({ type }) => type !== "null");
  const [first] = parts;
  if (first === undefined) return { kind: "json" };
  if (parts.length === 1) return controlOf(first);
  const controls = parts.map(controlOf);
  // A second list of choices has other spellings of the first one's.
  if (controls.every(({ kind }) => kind === "choice")) return controls[0] ?? { kind: "json" };
  const texts = controls.find(({ kind }) => kind === "texts");
  if (texts !== undefined && controls.every(({ kind }) => kind === "texts" || kind === "text")) return texts;
  return { kind: "json" };
}

/** Reads what was typed into a field. */
export function readField({ control }: SchemaField, input: string): Reading {
  if (input.trim() === "") return undefined;
  switch (control.kind) {
    case "choice": {
      const chosen = control.among.find((each) => shown(each) === input);
      return chosen === undefined ? { fault: "Choose one of the list." } : { value: chosen };
    }
    case "boolean":
      return { value: input === "true" };
    case "number":
      return readNumber(control, input);
    case "text":
      return control.most !== undefined && input.length > control.most
        ? { fault: `At most ${control.most} characters.` }
        : { value: input };
    case "texts": {
      const texts = input.split("\n").filter((line) => line !== "");
      if (control.most !== undefined && texts.length > control.most)
        return { fault: `At most ${control.most} lines.` };
      return texts.some((text) => control.among?.includes(text) === false)
        ? { fault: `Each line is one of: ${control.among?.join(", ")}.` }
        : { value: texts };
    }
    default:
      return readJson(input);
  }
}

/** Reads a text of JSON. */
export function readJson(input: string): Reading {
  if (input.trim() === "") return undefined;
  try {
    return { value: JSON.parse(input) as unknown };
  } catch (error) {
    return { fault: `No valid JSON: ${(error as Error).message}` };
  }
}

function readNumber(
  { isInteger, least, most }: Extract<FieldKind, { kind: "number" }>,
  input: string,
): Reading {
  const value = Number(input);
  if (!Number.isFinite(value)) return { fault: "Not a number." };
  if (isInteger && !Number.isInteger(value)) return { fault: "A whole number." };
  if (least !== undefined && value < least) return { fault: `At least ${least}.` };
  if (most !== undefined && value > most) return { fault: `At most ${most}.` };
  return { value };
}

/** A value as its field shows it; the reverse of `readField`. */
export function inputOf({ control }: SchemaField, value: unknown): string {
  return value === undefined ? "" : asTyped(control, value);
}

function asTyped({ kind }: FieldKind, value: unknown): string {
  if (kind === "texts" && Array.isArray(value)) return value.join("\n");
  return kind === "json" ? JSON.stringify(value, null, 2) : shown(value);
}

/** Those of `values` that have a field. */
export function valuesFor(
  fields: readonly SchemaField[],
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    fields.map(({ name }) => [name, values[name]] as const).filter(([, value]) => value !== undefined),
  );
}

/** A value in a list of choices or as a placeholder. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function textsOf(items: Schema | undefined, most: number | undefined): FieldKind {
  if (items?.type !== "string") return { kind: "json" };
  return { kind: "texts", most, among: Array.isArray(items.enum) ? items.enum : undefined };
}

function typesOf({ type }: Schema): readonly unknown[] {
  return Array.isArray(type) ? type : [type];
}

function schemaOf(value: unknown): Schema | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** What a number is for, and between which bounds it may lie. */
export function withBounds(
  hint: string | undefined,
  { least, most }: Pick<Extract<FieldKind, { kind: "number" }>, "least" | "most">,
): string | undefined {
  const bounds = boundsText(least, most);
  return hint === undefined || bounds === undefined ? (hint ?? bounds) : `${hint} · ${bounds}`;
}

function boundsText(least: number | undefined, most: number | undefined): string | undefined {
  if (least !== undefined && most !== undefined) return `${grouped(least)} to ${grouped(most)}`;
  if (least !== undefined) return `${grouped(least)} or more`;
  return most === undefined ? undefined : `at most ${grouped(most)}`;
}
