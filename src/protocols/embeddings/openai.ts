import { GatewayError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { type AnswerFormat, readWholeAnswer } from "../answer-json.ts";
import { printable } from "../printable.ts";
import { readRefusal } from "../refusal.ts";
import { unknownField } from "../meant-field.ts";
import { createWarnings } from "../warnings.ts";
import type { EmbeddingDialect } from "./dialect.ts";
import { askedOf, askedVectors, type AskedVectors, type EmbeddingFormat } from "./format.ts";
import type { EmbeddingRequest } from "./request.ts";
import { EMBEDDING_FIELDS } from "./schema.ts";
import { countedInput, encodeInput, meterInput } from "./usage.ts";
import { encodeVector, lengthOfVector, readVector } from "./vectors.ts";

/**
 * OpenAI's form, which compatible servers have too. An answer's bytes stay, but for `model` and `credit`, where it is
 * what was asked for. That is a vector for each text, in their order and in the encoding that the client named.
 */
export const openaiEmbeddings: EmbeddingFormat = {
  upstreamPath: () => "/embeddings",
  upstreamBody(request, target) {
    const { dialect, facts, upstreamId, user } = target;
    const { texts, isOne, dimensions, encodingFormat, others } = request;
    const warnings = leftOut(request, dialect);
    const sent: JsonObject = {
      ...(dialect.unknownFields === "pass" ? others : {}),
      model: upstreamId,
      input: isOne ? texts[0] : texts,
    };
    // What a model gives anyway one that cannot be told refuses.
    if (dimensions !== undefined && facts.otherDimensions !== undefined)
      sent[dialect.dimensionsField] = dimensions;
    if (encodingFormat !== undefined && dialect.base64) sent.encoding_format = encodingFormat;
    if (user !== undefined && dialect.user) sent.user = user;
    return {
      body: [new TextEncoder().encode(JSON.stringify(sent))],
      warnings,
      echo: askedVectors(request, target),
    };
  },
  readAnswer: (received, context) => readWholeAnswer(FORMAT, received, context),
  readRefusal,
};

/** What does not go to the provider, a sentence each. */
export function leftOut({ others, user }: EmbeddingRequest, dialect: EmbeddingDialect): readonly string[] {
  const warnings = createWarnings();
  const { format, meant } = EMBEDDING_FIELDS;
  if (dialect.unknownFields === "remove")
    for (const name of Object.keys(others)) warnings.add(unknownField(printable(name), format, meant(name)));
  if (user !== undefined && !dialect.user)
    warnings.add("user was left out: the provider of this model does not take it");
  return [...warnings];
}

const FORMAT: AnswerFormat = {
  usageMember: "usage",
  modelMember: () => "model",
  read(value, context) {
    const repairs = mendVectors(value, askedOf(context));
    const { usage } = value;
    const metered = meterInput(countedInput(usage), context);
    const keepsUsage = metered.flags.length === 0 && isWhole(usage);
    return { metered, repairs, usage: keepsUsage ? undefined : encodeInput(metered) };
  },
};

/** Whether the provider's usage has both counts. */
function isWhole(usage: unknown): boolean {
  return (
    isJsonObject(usage) && typeof usage.prompt_tokens === "number" && typeof usage.total_tokens === "number"
  );
}

/** Puts the vectors in their order and in the encoding that was asked for; names what it changed. */
function mendVectors(value: JsonObject, asked: AskedVectors): readonly string[] {
  const rows = rowsOf(value, asked);
  const repairs = new Set<string>();
  const inOrder = rows.every(({ index }, i) => index === i);
  if (!inOrder) {
    if (rows.every(({ index }) => typeof index === "number"))
      rows.sort((a, b) => (a.index as number) - (b.index as number));
    rows.forEach((row, i) => (row.index = i));
    value.data = rows;
    repairs.add("vector_order");
  }
  for (const row of rows) {
    const vector = readVector(row.embedding);
    if (asked.dimensions !== null && lengthOfVector(vector) !== asked.dimensions)
      throw new GatewayError("upstream_error", "The provider's vectors are not as long as was asked for.");
    const encoded = encodeVector(vector, asked.encoding);
    if (encoded === vector) continue;
    row.embedding = encoded;
    repairs.add("vector_encoding");
  }
  return [...repairs];
}

function rowsOf({ data }: JsonObject, { texts }: AskedVectors): JsonObject[] {
  if (Array.isArray(data) && data.length === texts && data.every(isJsonObject)) return data;
  throw new GatewayError("upstream_error", "The provider's answer has not one embedding for each text.");
}
