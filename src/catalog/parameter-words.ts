import { table } from "./page-parts.ts";
import type { JsonSchema, Parameter, ParameterFacts } from "./parameter-tables/parameter.ts";
import { type Endpoint, isIgnored, type MediaEndpoint, parametersOf } from "./parameters.ts";
import { grouped } from "./price-words.ts";

/** The parameters of a model at one endpoint, as a table. */
export function parameterTable(model: ParameterFacts, endpoint: Endpoint): string {
  return tableOf(parametersOf(model, endpoint), ({ name, does }) =>
    isIgnored(model, endpoint, name) ? "Ignored by this model: left out, with a `warning` header" : does,
  );
}

/** The parameters that an image or video model takes, as a table; and those that it does not, as text. */
export function mediaParameterTable(
  model: ParameterFacts,
  endpoint: MediaEndpoint,
): { readonly taken: string; readonly ignored: string } {
  const all = parametersOf(model, endpoint);
  const isTaken = ({ name }: Parameter): boolean => !isIgnored(model, endpoint, name);
  const ignored = all.filter((parameter) => !isTaken(parameter));
  const words = ignored.map(({ name, schema }) => {
    const otherwise = defaultWords(schema);
    return `\`${name}\`${otherwise === "" ? "" : ` (${otherwise})`}`;
  });
  return { taken: tableOf(all.filter(isTaken)), ignored: words.join(", ") };
}

function tableOf(parameters: readonly Parameter[], doesOf = ({ does }: Parameter) => does): string {
  const rows = parameters.map((parameter) => [
    `\`${parameter.name}\``,
    typeWords(parameter.schema),
    rangeWords(parameter.schema),
    parameter.required === true ? "required" : defaultWords(parameter.schema),
    doesOf(parameter).replaceAll("|", "\\|"),
  ]);
  return table(["Name", "Type", "Range", "Default", "What it does"], rows);
}

function typeWords(schema: JsonSchema): string {
  const { anyOf, type, items } = schema;
  if (Array.isArray(anyOf)) return anyOf.map((one: JsonSchema) => typeWords(one)).join(" or ");
  if (type === "array") return isSchema(items) ? `array of ${typeWords(items)}` : "array";
  return typeof type === "string" ? type : "any";
}

function rangeWords(schema: JsonSchema): string {
  const { anyOf, items, enum: values, const: only, minimum, maximum, maxItems, maxLength } = schema;
  if (Array.isArray(anyOf)) return joined(anyOf.map(rangeWords));
  if (typeof only === "string") return `\`${only}\``;
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (maximum !== undefined) return `${shown(minimum)} to ${shown(maximum)}`;
  if (minimum !== undefined) return `${shown(minimum)} or more`;
  if (maxLength !== undefined) return `at most ${shown(maxLength)} characters`;
  const most = maxItems === undefined ? "" : `at most ${shown(maxItems)}`;
  return joined([most, isSchema(items) ? rangeWords(items) : ""]);
}

function joined(words: readonly string[]): string {
  return words.filter((word) => word !== "").join("; ");
}

function defaultWords(schema: JsonSchema): string {
  return schema.default === undefined ? "" : `\`${JSON.stringify(schema.default)}\``;
}

function shown(value: unknown): string {
  return grouped(String(value));
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null;
}
