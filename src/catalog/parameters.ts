import type { Model } from "../core/model.ts";

/** The sampling and length fields of chat completions, each with the range that the interface gives it. */
const CHAT_PARAMETERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  temperature: { type: "number", minimum: 0, maximum: 2 },
  top_p: { type: "number", minimum: 0, maximum: 1 },
  presence_penalty: { type: "number", minimum: -2, maximum: 2 },
  frequency_penalty: { type: "number", minimum: -2, maximum: 2 },
  max_completion_tokens: { type: "integer", minimum: 1 },
  stop: { type: ["string", "array"], items: { type: "string" } },
  n: { type: "integer", minimum: 1, default: 1 },
  stream: { type: "boolean", default: false },
};

/** The parameters that a model takes, as a JSON Schema; those it ignores are left out. */
export function parameterSchema(model: Omit<Model, "parameterSchema">): Readonly<Record<string, unknown>> {
  if (model.category !== "language") return { type: "object", properties: {} };
  const properties = Object.entries(CHAT_PARAMETERS)
    .filter(([name]) => !model.ignoredParameters.includes(name))
    .map(([name, schema]) =>
      name === "max_completion_tokens" && model.maxOutput !== null
        ? [name, { ...schema, maximum: model.maxOutput }]
        : [name, schema],
    );
  return { type: "object", properties: Object.fromEntries(properties) };
}
