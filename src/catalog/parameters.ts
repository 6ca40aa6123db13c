import type { Model, ProtocolId } from "../core/model.ts";
import { chatParameters } from "./parameter-tables/chat-completions.ts";
import { generateContentParameters } from "./parameter-tables/generate-content.ts";
import { messagesParameters } from "./parameter-tables/messages.ts";
import type { JsonSchema, Parameter, ParameterFacts } from "./parameter-tables/parameter.ts";

const TABLES: Readonly<Record<ProtocolId, (model: ParameterFacts) => readonly Parameter[]>> = {
  compat_chat_completions: chatParameters,
  compat_messages: messagesParameters,
  compat_generate_content: generateContentParameters,
};

/** The parameters of a model in a format, in the order in which they are told, those it does not take among them. */
export function parametersOf(model: ParameterFacts, protocol: ProtocolId): readonly Parameter[] {
  return TABLES[protocol](model);
}

/** The parameters of chat completions, without those inside others. */
export function chatParameterNames(model: ParameterFacts): readonly string[] {
  return parametersOf(model, "compat_chat_completions")
    .map(({ name }) => name)
    .filter((name) => !name.includes("."));
}

/** Whether the model, or the server that it is reached at, does not take a parameter: it is left out with a warning. */
export function isIgnored(model: ParameterFacts, protocol: ProtocolId, name: string): boolean {
  const [own = ""] = name.replace("generationConfig.", "").split(".");
  if (model.ignoredParameters.includes(own)) return true;
  if (protocol !== "compat_chat_completions") return false;
  return model.chatLimits?.untaken.includes(own) ?? false;
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
  const taken = all.filter(({ name }) => !isIgnored(model, protocol, name));
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
    "x-ignored": all.filter(({ name }) => isIgnored(model, protocol, name)).map(({ name }) => name),
  };
}
