import { type Static, Type } from "typebox";
import type { EmbeddingFacts } from "../core/model.ts";

const closed = { additionalProperties: false };

const Length = Type.Integer({ minimum: 1, maximum: 100_000 });

/** What is said of an embedding model, in its file or in switchyard.yaml. */
export const EmbeddingSchema = Type.Object(
  {
    dimensions: Type.Integer({
      minimum: 1,
      maximum: 100_000,
      description: "How long its vectors are where no other length is asked for",
    }),
    other_dimensions: Type.Optional(
      Type.Union(
        [
          Type.Object({ from: Length, to: Length }, closed),
          Type.Array(Length, { minItems: 1, uniqueItems: true }),
        ],
        { description: "Other lengths that can be asked for: a range, or these" },
      ),
    ),
    most_texts: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 2_048, description: "Texts of one request; absent: 2,048" }),
    ),
    most_tokens: Type.Optional(
      Type.Integer({ minimum: 1, description: "Tokens of all texts of one request together" }),
    ),
    reads_tokens: Type.Optional(
      Type.Boolean({ description: "Whether texts can come as lists of OpenAI's tokens" }),
    ),
    normalize_shorter: Type.Optional(
      Type.Boolean({ description: "Whether the gateway gives its shorter vectors length one" }),
    ),
  },
  closed,
);

export type EmbeddingData = Static<typeof EmbeddingSchema>;

/** The most texts of one request, whatever the model. */
export const MOST_TEXTS = 2_048;

/** The facts as written. Throws a sentence for a range that ends before it begins. */
export function readEmbedding(data: EmbeddingData): EmbeddingFacts {
  const { dimensions, other_dimensions: others, most_texts, most_tokens } = data;
  if (others !== undefined && "from" in others && others.from > others.to)
    throw new Error("embedding.other_dimensions ends before it begins");
  return {
    dimensions,
    ...(others === undefined ? {} : { otherDimensions: others }),
    mostTexts: most_texts ?? MOST_TEXTS,
    ...(most_tokens === undefined ? {} : { mostTokens: most_tokens }),
    readsTokens: data.reads_tokens ?? false,
    normalizeShorter: data.normalize_shorter ?? false,
  };
}

/** Whether vectors of this length can be asked for. */
export function givesDimensions({ dimensions, otherDimensions }: EmbeddingFacts, asked: number): boolean {
  if (asked === dimensions) return true;
  if (otherDimensions === undefined) return false;
  if ("from" in otherDimensions) return asked >= otherDimensions.from && asked <= otherDimensions.to;
  return otherDimensions.includes(asked);
}
