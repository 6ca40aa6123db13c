import type { Model, ProtocolId } from "../core/model.ts";
import {
  type JsonSchema,
  type Parameter,
  type ParameterFacts,
  PARAMETER_TABLES,
} from "./parameter-tables.ts";

/** The parameters of a model in a format, in the order in which they are told, those it does not take among them. */
export function parametersOf(model: ParameterFacts, protocol: ProtocolId): readonly Parameter[] {
  return PARAMETER_TABLES[protocol](model);
}

/** Whether the model does not take a parameter: it is left out with a `warning` header. By the name in any format: `generationConfig.topP` is what other formats call `top_p`. */
export function isIgnored(model: ParameterFacts, name: string): boolean {
  const own = name.replace("generationConfig.", "");
  const snake = own.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  if (own.startsWith("image_config") && !model.outputModalities.includes("image")) return true;
  return [own, snake, own.split(".")[0]].some((form) => model.ignoredParameters.includes(form ?? ""));
}

/**
 * The parameters that a model takes, as a JSON Schema (2020-12). `properties` are those of the first format that it is
 * served in, which `x-protocol` names; `x-protocols` has a schema of the same shape for each further format.
 * What the model does not take is no property but stands in `x-ignored`: it is left out with a `warning` header.
 */
export function parameterSchema(model: Omit<Model, "parameterSchema">): JsonSchema {
  const [first, ...others] = model.supportedProtocols;
  if (first === undefined) return { ...DIALECT, type: "object", properties: {} };
  return {
    ...DIALECT,
    ...formatSchema(model, first),
    ...(others.length === 0
      ? {}
      : { "x-protocols": Object.fromEntries(others.map((id) => [id, formatSchema(model, id)])) }),
  };
}

const DIALECT = { $schema: "https://json-schema.org/draft/2020-12/schema" };

function formatSchema(model: ParameterFacts, protocol: ProtocolId): JsonSchema {
  const all = parametersOf(model, protocol);
  const taken = all.filter(({ name }) => !isIgnored(model, name));
  const properties: Record<string, JsonSchema> = {};
  for (const { name, schema, does } of taken.filter((parameter) => !parameter.name.includes("."))) {
    const inner = taken.filter((parameter) => parameter.name.startsWith(`${name}.`));
    const members = inner.map((parameter) => [
      parameter.name.slice(name.length + 1),
      { ...parameter.schema, description: parameter.does },
    ]);
    properties[name] = {
      ...schema,
      ...(members.length === 0 ? {} : { properties: Object.fromEntries(members) }),
      description: does,
    };
  }
  return {
    "x-protocol": protocol,
    type: "object",
    required: taken.filter(({ required }) => required).map(({ name }) => name),
    properties,
    "x-ignored": all.filter(({ name }) => isIgnored(model, name)).map(({ name }) => name),
  };
}
