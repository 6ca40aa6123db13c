import { Type } from "typebox";
import type { Fields } from "./field.ts";
import { atMost, type JsonSchema, type ParameterFacts } from "./parameter.ts";

/** The longest list of models in a request; `model` beside it is one more. */
export const MOST_MODELS = 5;

/** Fields that more than one format has, as far as they are the same there. */
export const SHARED = {
  model: {
    required: true,
    schema: Type.String({
      minLength: 1,
      description: "Model id, <vendor>/<model-name>, or another name of the model",
    }),
    place: "wire",
    does: "The model's id",
    shown: (_, { id }) => ({ type: "string", const: id }),
  },
  models: {
    schema: Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: MOST_MODELS }),
    place: "wire",
    does: "Models that may serve, the first that can; beside `model` those that serve in its place. The answer's `model` says which did",
  },
  stream: {
    schema: Type.Boolean({ default: false }),
    place: "wire",
    does: "Answer as server-sent events",
  },
  temperature: {
    schema: Type.Number({ minimum: 0, maximum: 2 }),
    place: "temperature",
    does: "Randomness; lower is more repeatable",
  },
  topP: {
    schema: Type.Number({ minimum: 0, maximum: 1 }),
    place: "topP",
    does: "Sample from the likeliest tokens of this total probability",
  },
  topK: {
    schema: Type.Integer({ minimum: 0 }),
    place: "topK",
    does: "Sample from this many likeliest tokens",
  },
  stop: {
    place: "stop",
    otherNames: "stop stop_words",
    does: "End the answer before any of these texts",
  },
  presencePenalty: {
    schema: Type.Number({ minimum: -2, maximum: 2 }),
    place: "presencePenalty",
    does: "Above 0: away from words that were used",
  },
  frequencyPenalty: {
    schema: Type.Number({ minimum: -2, maximum: 2 }),
    place: "frequencyPenalty",
    does: "Above 0: away from words by how often they were used",
  },
} satisfies Fields;

/** What `temperature` does where requests go on with `most` at the most. */
export function cooledTo(most: number | undefined): string {
  const { does } = SHARED.temperature;
  return most === undefined ? does : `${does}; above ${most} it is lowered to that, with a warning`;
}

/** The schema of a bound on output: a page has the model's own. */
export function boundedByModel(schema: JsonSchema, { maxOutput }: ParameterFacts): JsonSchema {
  return { ...schema, ...atMost(maxOutput) };
}
