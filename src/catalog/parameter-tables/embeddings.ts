import { Type } from "typebox";
import { MOST_TEXTS } from "../embedding-facts.ts";
import { type Fields, nullable } from "./field.ts";
import type { JsonSchema, ParameterFacts } from "./parameter.ts";
import { SHARED } from "./shared-fields.ts";

/** Encodings of a vector. */
export const ENCODINGS = ["float", "base64"] as const;

const Text = Type.String({ minLength: 1 });
const Token = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const Tokens = Type.Array(Token, { minItems: 1 });

/** The fields of `POST /api/v1/embeddings`. */
export const EMBEDDINGS = {
  model: { ...SHARED.model, otherNames: "model_id model_name engine deployment" },
  input: {
    required: true,
    schema: Type.Union([
      Text,
      Type.Array(Text, { minItems: 1, maxItems: MOST_TEXTS }),
      Tokens,
      Type.Array(Tokens, { minItems: 1, maxItems: MOST_TEXTS }),
    ]),
    otherNames: "inputs text texts content contents prompt documents",
    does: ({ embedding }) =>
      embedding?.readsTokens === true
        ? "The text, or a list of texts; a text may be a list of OpenAI's tokens"
        : "The text, or a list of texts",
    shown: (_, { embedding }) => {
      const texts = { maxItems: embedding?.mostTexts ?? MOST_TEXTS };
      const forms: JsonSchema[] = [
        { type: "string" },
        { type: "array", items: { type: "string" }, ...texts },
      ];
      const tokens = { type: "array", items: { type: "integer" } };
      if (embedding?.readsTokens === true) forms.push(tokens, { type: "array", items: tokens, ...texts });
      return { anyOf: forms };
    },
  },
  dimensions: {
    schema: nullable(Type.Integer({ minimum: 1, description: "How long each vector is" })),
    otherNames: "output_dimension output_dimensionality outputDimensionality dimension",
    does: ({ embedding }) =>
      embedding?.otherDimensions === undefined ? undefined : "How long each vector is",
    shown: (_, model) => ({ type: "integer", ...lengthsOf(model) }),
  },
  encoding_format: {
    schema: nullable(Type.Enum([...ENCODINGS])),
    otherNames: "format output_dtype embedding_types",
    does: "A vector as a list of numbers, or as the base64 of its 32-bit floats, the lowest byte first",
    shown: (schema) => ({ ...schema, default: "float" }),
  },
  user: {
    schema: nullable(Type.String({ description: "Who asks, as the caller's own service knows them" })),
    does: "Who asks, as your service knows them; the provider gets a hash of it, or nothing",
  },
} satisfies Fields;

function lengthsOf({ embedding }: ParameterFacts): JsonSchema {
  if (embedding === undefined) return {};
  const { dimensions, otherDimensions: others } = embedding;
  if (others === undefined) return { default: dimensions };
  if ("from" in others) return { minimum: others.from, maximum: others.to, default: dimensions };
  return { enum: [...new Set([...others, dimensions])].sort((a, b) => a - b), default: dimensions };
}
