import type { JsonSchema, ParameterFacts } from "./parameter-tables/parameter.ts";
import { type Endpoint, isIgnored, parametersOf } from "./parameters.ts";
import { grouped } from "./price-words.ts";

/** The parameters of a model in one format, as a table. */
export function parameterTable(model: ParameterFacts, endpoint: Endpoint): string {
  const rows = parametersOf(model, endpoint).map(({ name, schema, does, required }) =>
    [
      "",
      `\`${name}\``,
      typeWords(schema),
      rangeWords(schema),
      required === true ? "required" : defaultWords(schema),
      isIgnored(model, endpoint, name)
        ? "Ignored by this model: left out, with a `warning` header"
        : cell(does),
      "",
    ]
      .join(" | ")
      .trim(),
  );
  return ["| Name | Type | Range | Default | What it does |", "|---|---|---|---|---|", ...rows].join("\n");
}

function typeWords(schema: JsonSchema): string {
  const { anyOf, type, items } = schema;
  if (Array.isArray(anyOf)) return anyOf.map((one: JsonSchema) => typeWords(one)).join(" or ");
  if (type === "array") return isSchema(items) ? `array of ${typeWords(items)}` : "array";
  return typeof type === "string" ? type : "any";
}

function rangeWords(schema: JsonSchema): string {
  const { anyOf, items, enum: values, const: only, minimum, maximum, maxItems } = schema;
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
