import { Type } from "typebox";
import { EMBEDDINGS } from "../../catalog/parameter-tables/embeddings.ts";
import { nullable, objectOf, open } from "../../catalog/parameter-tables/field.ts";
import { createFieldTable } from "../field-table.ts";

/** The fields of a request for embeddings. */
export const EMBEDDING_FIELDS = createFieldTable({ format: "embeddings", fields: EMBEDDINGS });

/** A request for embeddings, for whoever describes the endpoint. */
export const EmbeddingRequestSchema = objectOf(EMBEDDINGS, { title: "EmbeddingRequest" });

/** The same for the check of requests: the forms of the input are looked at one by one, so that a fault has its place. */
export const CheckedRequestSchema = open({
  model: EMBEDDINGS.model.schema,
  input: Type.Unknown(),
  dimensions: EMBEDDINGS.dimensions.schema,
  encoding_format: EMBEDDINGS.encoding_format.schema,
  user: EMBEDDINGS.user.schema,
});

/** The answer to a request for embeddings. */
export const EmbeddingAnswerSchema = open(
  {
    object: Type.Literal("list"),
    data: Type.Array(
      open({
        object: Type.Literal("embedding"),
        index: Type.Integer({ description: "The place of the text in the input" }),
        embedding: Type.Union([Type.Array(Type.Number()), Type.String({ description: "With base64" })]),
      }),
    ),
    model: Type.String(),
    usage: open({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
    credit: Type.Number({ description: "What the request cost" }),
    id: nullable(Type.String()),
  },
  { title: "EmbeddingAnswer" },
);
