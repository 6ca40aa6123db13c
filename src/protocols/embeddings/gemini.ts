import { creditsText } from "../../core/money/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { readAnswerJson } from "../answer-json.ts";
import { errorWithin, readErrorObject, readRefusal } from "../refusal.ts";
import { askedOf, askedVectors, type EmbeddingFormat } from "./format.ts";
import { leftOut } from "./openai.ts";
import { encodeInput, meterInput } from "./usage.ts";
import { encodeVector, normalized, readVector } from "./vectors.ts";

/** The Gemini API's form: one request of it has a request for each text, and its answer becomes one of OpenAI's form. */
export const geminiEmbeddings: EmbeddingFormat = {
  upstreamPath: (upstreamId) => `/v1beta/models/${upstreamId}:batchEmbedContents`,
  upstreamBody(request, target) {
    const { upstreamId, dialect, facts } = target;
    const { texts, dimensions } = request;
    const length = facts.otherDimensions === undefined ? undefined : dimensions;
    const requests = texts.map((text) => ({
      model: `models/${upstreamId}`,
      content: { parts: [{ text }] },
      // Left out where it is undefined.
      [dialect.dimensionsField]: length,
    }));
    return {
      body: [new TextEncoder().encode(JSON.stringify({ requests }))],
      warnings: leftOut(request, dialect),
      echo: askedVectors(request, target),
    };
  },
  readAnswer(received, context) {
    const { value } = readAnswerJson(received);
    const error = errorWithin(value);
    if (error !== undefined) throw readErrorObject(error, context);
    const { encoding, normalize, texts, dimensions } = askedOf(context);
    const data = vectorsOf(value, texts).map((values, index) => {
      if (dimensions !== null && values.length !== dimensions)
        throw new GatewayError("upstream_error", "The provider's vectors are not as long as was asked for.");
      const vector = normalize ? normalized(values) : values;
      return { object: "embedding", index, embedding: encodeVector(vector, encoding) };
    });
    const { usageMetadata } = value;
    const metered = meterInput(
      isJsonObject(usageMetadata) ? usageMetadata.promptTokenCount : undefined,
      context,
    );
    return {
      metered,
      repairs: [],
      encode(credit) {
        const answer = { object: "list", data, model: context.model, usage: encodeInput(metered) };
        const text = JSON.stringify(answer);
        return new TextEncoder().encode(`${text.slice(0, -1)},"credit":${creditsText(credit)}}`);
      },
    };
  },
  readRefusal,
};

function vectorsOf({ embeddings }: JsonObject, texts: number): readonly (readonly number[])[] {
  if (!Array.isArray(embeddings) || embeddings.length !== texts)
    throw new GatewayError("upstream_error", "The provider's answer has not one embedding for each text.");
  return embeddings.map((embedding: unknown) => {
    const vector = readVector(isJsonObject(embedding) ? embedding.values : undefined);
    return encodeVector(vector, "float") as readonly number[];
  });
}
