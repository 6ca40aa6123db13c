import { counted, grouped } from "../../format/numbers.ts";

/** A parameter of a model, as a line of a table. */
export interface Parameter {
  readonly name: string;
  readonly type: string;
  readonly range: string;
  readonly default: string;
  readonly isRequired: boolean;
  readonly description: string;
}

/** The part of JSON Schema that parameters are described in. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: string | number | boolean;
  readonly enum?: readonly (string | number | boolean)[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly default?: unknown;
  readonly description?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
}

/** The parameters that a model's `parameter_schema` describes; members of an object follow it. */
export function parametersOf(schema: unknown, prefix = ""): readonly Parameter[] {
  const { properties = {}, required = [] } = schema as Schema;
  return Object.entries(properties).flatMap(([name, member]) => {
    const parameter: Parameter = {
      name: `${prefix}${name}`,
      type: typeOf(member),
      range: rangeOf(member),
      default: member.default === undefined ? "" : JSON.stringify(member.default),
      isRequired: required.includes(name),
      description: member.description ?? "",
    };
    return [parameter].concat(prefix === "" ? parametersOf(member, `${name}.`) : []);
  });
}

function typeOf(schema: Schema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(" or ");
  const values = schema.enum ?? (schema.const === undefined ? [] : [schema.const]);
  const types = schema.type === undefined ? values.map((value) => typeof value) : [schema.type].flat();
  const inner = schema.items === undefined ? "" : ` of ${typeOf(schema.items)}`;
  return [...new Set(types.filter((type) => type !== "null"))]
    .map((type) => (type === "array" ? `array${inner}` : type))
    .join(" or ");
}

function rangeOf(schema: Schema): string {
  if (schema.const !== undefined) return String(schema.const);
  const words = (schema.anyOf ?? [schema]).map(ownRange).filter((text) => text !== "");
  return [...new Set(words)].join("; or ");
}

function ownRange(schema: Schema): string {
  if (schema.enum !== undefined) return schema.enum.map(String).join(", ");
  if (schema.items?.enum !== undefined) return `any of ${schema.items.enum.map(String).join(", ")}`;
  const { minimum, maximum, maxLength, maxItems } = schema;
  if (minimum !== undefined && maximum !== undefined) return `${grouped(minimum)} to ${grouped(maximum)}`;
  if (minimum !== undefined) return `at least ${grouped(minimum)}`;
  if (maximum !== undefined) return `at most ${grouped(maximum)}`;
  if (maxLength !== undefined) return `at most ${counted(maxLength, "character")}`;
  return maxItems === undefined ? "" : `at most ${grouped(maxItems)}`;
}
