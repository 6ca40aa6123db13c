import type { ProtocolId } from "../core/model.ts";
import { table } from "./page-parts.ts";
import type { JsonSchema, Parameter, ParameterFacts } from "./parameter-tables/parameter.ts";
import { isIgnored, type MediaEndpoint, parametersOf } from "./parameters.ts";
import { grouped } from "./price-words.ts";

/** The parameters of a model at one endpoint, as a table. */
export function parameterTable(model: ParameterFacts, endpoint: ProtocolId): string {
  return tableOf(
    parametersOf(model, endpoint).map((parameter) =>
      parameterRow(
        parameter,
        isIgnored(model, endpoint, parameter.name)
          ? "Ignored by this model: left out, with a `warning` header"
          : parameter.does,
      ),
    ),
  );
}

/** The parameters that an image or video model takes, as a table; and those that it does not, as text. */
export function mediaParameterTable(
  model: ParameterFacts,
  endpoint: MediaEndpoint,
): { readonly taken: string; readonly ignored: string } {
  const all = parametersOf(model, endpoint);
  const isTaken = ({ name }: Parameter): boolean => !isIgnored(model, endpoint, name);
  return {
    taken: tableOf(all.filter(isTaken).map((parameter) => parameterRow(parameter, parameter.does))),
    ignored: all
      .filter((parameter) => !isTaken(parameter))
      .map(({ name, schema }) => `\`${name}\`${shownDefault(schema)}`)
      .join(", "),
  };
}

function shownDefault(schema: JsonSchema): string {
  const otherwise = defaultWords(schema);
  return otherwise === "" ? "" : ` (${otherwise})`;
}

function tableOf(rows: readonly (readonly string[])[]): string {
  return table(["Name", "Type", "Range", "Default", "What it does"], rows);
}

function parameterRow({ name, schema, required }: Parameter, does: string): readonly string[] {
  return [
    `\`${name}\``,
    typeWords(schema),
    rangeWords(schema),
    required === true ? "required" : defaultWords(schema),
    cell(does),
  ];
}

function typeWords(schema: JsonSchema): string {
  const { anyOf, type, items } = schema;
  if (Array.isArray(anyOf)) return anyOf.map((one: JsonSchema) => typeWords(one)).join(" or ");
  if (type === "array") return isSchema(items) ? `array of ${typeWords(items)}` : "array";
  return typeof type === "string" ? type : "any";
}

function rangeWords(schema: JsonSchema): string {
  const { anyOf, items, enum: values, const: only, minimum, maximum, maxItems, maxLength } = schema;
  if (Array.isArray(anyOf)) {
    return anyOf
      .map((one: JsonSchema) => rangeWords(one))
      .filter((words) => words !== "")
      .join("; ");
  }
  if (typeof only === "string") return `\`${only}\``;
  if (Array.isArray(values)) return values.map((value) => `\`${String(value)}\``).join(", ");
  if (minimum !== undefined || maximum !== undefined) {
    if (maximum === undefined) return `${shown(minimum)} or more`;
    return `${shown(minimum)} to ${shown(maximum)}`;
  }
  if (maxLength !== undefined) return `at most ${shown(maxLength)} characters`;
  const inner = isSchema(items) ? rangeWords(items) : "";
  return [maxItems === undefined ? "" : `at most ${shown(maxItems)}`, inner]
    .filter((words) => words !== "")
    .join("; ");
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

/** Text as it can stand in a cell of a table. */
function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
