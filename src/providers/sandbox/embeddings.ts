import { givesDimensions } from "../../catalog/embedding-facts.ts";
import type { Clock } from "../../core/time/clock.ts";
import { type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import type { Category, EmbeddingFacts, Model } from "../../core/model.ts";
import type { EmbeddingDialect } from "../../protocols/embeddings/dialect.ts";
import { encodeVector } from "../../protocols/embeddings/vectors.ts";
import type { OutboundRequest } from "../../runtime/fetch.ts";
import { Refusal, refuse } from "./formats/ask.ts";
import { chatFormat } from "./formats/chat-answer.ts";
import type { SandboxFormat } from "./formats/format.ts";
import { generateFormat } from "./formats/generate-answer.ts";
import { numberOf, objectOf, textOf } from "./members.ts";
import { answerAsOrdered } from "./orders.ts";
import { tokensOf } from "./text-pieces.ts";

export interface EmbeddingServer {
  readonly clock: Clock;
  /** The form that the provider in whose place it answers is asked in. */
  readonly dialect: EmbeddingDialect;
  readonly modelOf: (id: string, category: Category) => Model | undefined;
}

/** Answers a request for embeddings as the vendor's server would: vectors of length one, the same for the same text. */
export function answerEmbeddings(
  { clock, dialect, modelOf }: EmbeddingServer,
  url: string,
  request: OutboundRequest,
): Promise<Response> {
  const { read, write, writeRefusal } = FORMS[dialect.form];
  return answerAsOrdered(clock, request, writeRefusal, (body) => {
    const asked = read(body, url, dialect);
    const model = modelOf(asked.model, "embedding");
    if (model?.embedding === undefined)
      throw new Refusal(404, "not_found", "The sandbox has no such model.", "model");
    check(asked, model, model.embedding);
    const length = asked.dimensions ?? model.embedding.dimensions;
    return Response.json(
      write(
        asked.texts.map((text) => vectorOf(text, length)),
        asked,
      ),
    );
  });
}

/** A request in no form. Tokens stand as texts of their numbers. */
interface AskedEmbeddings {
  readonly model: string;
  readonly texts: readonly string[];
  readonly tokens: number;
  readonly dimensions: number | undefined;
  readonly encoding: "float" | "base64";
}

interface Form {
  read(body: JsonObject, url: string, dialect: EmbeddingDialect): AskedEmbeddings;
  write(vectors: readonly (readonly number[])[], asked: AskedEmbeddings): JsonObject;
  readonly writeRefusal: SandboxFormat["writeRefusal"];
}

const FORMS: Readonly<Record<EmbeddingDialect["form"], Form>> = {
  openai: {
    read: readOpenai,
    write: (vectors, { model, tokens, encoding }) => ({
      object: "list",
      data: vectors.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: encodeVector(vector, encoding),
      })),
      model,
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }),
    writeRefusal: chatFormat.writeRefusal,
  },
  gemini: {
    read: readGemini,
    write: (vectors, { tokens }) => ({
      embeddings: vectors.map((values) => ({ values })),
      usageMetadata: { promptTokenCount: tokens },
    }),
    writeRefusal: generateFormat.writeRefusal,
  },
};

function readOpenai(body: JsonObject, _url: string, dialect: EmbeddingDialect): AskedEmbeddings {
  const { model, input, encoding_format: encoding = "float", user: _user, ...others } = body;
  const { [dialect.dimensionsField]: dimensions, ...unknown } = others;
  const [strange] = Object.keys(unknown);
  if (strange !== undefined) refuse(`Unrecognized request argument supplied: ${strange}`, strange);
  if (encoding !== "float" && !(encoding === "base64" && dialect.base64))
    refuse("encoding_format is not one that this server has.", "encoding_format");
  const isOne = typeof input === "string" || (Array.isArray(input) && typeof input[0] === "number");
  const items: readonly unknown[] = isOne ? [input] : Array.isArray(input) ? input : [];
  const isTokens = (item: unknown): item is readonly number[] =>
    dialect.kind === "native" && Array.isArray(item) && item.length > 0 && item.every(Number.isInteger);
  if (!items.every((item) => typeof item === "string" || isTokens(item)))
    refuse("'$.input' is invalid.", "input");
  const counts = items.map((item) => (isTokens(item) ? item.length : tokensOf(textOf(item))));
  return {
    model: textOf(model),
    texts: items.map((item) => (isTokens(item) ? item.join(" ") : textOf(item))),
    tokens: counts.reduce((sum, count) => sum + count, 0),
    dimensions: numberOf(dimensions),
    encoding,
  };
}

function readGemini({ requests }: JsonObject, url: string, dialect: EmbeddingDialect): AskedEmbeddings {
  const model = /\/models\/([^?]+):batchEmbedContents$/.exec(url)?.[1] ?? "";
  const asked = objectsIn(requests);
  const texts = asked.map(({ content }) =>
    objectsIn(objectOf(content).parts).reduce((said, { text }) => said + textOf(text), ""),
  );
  if (asked.some((request) => request.model !== `models/${model}`))
    refuse("The model of a request is not that of the batch.", "requests");
  const [dimensions, ...others] = new Set(asked.map((request) => numberOf(request[dialect.dimensionsField])));
  if (others.length > 0) refuse("The requests of a batch differ in their length.", "requests");
  return { model, texts, tokens: tokensOf(...texts), dimensions, encoding: "float" };
}

/** Refuses what the vendor's server would refuse. */
function check({ texts, dimensions }: AskedEmbeddings, { totalContext }: Model, facts: EmbeddingFacts): void {
  if (texts.length === 0 || texts.includes("")) refuse("The input has an empty text, or none.", "input");
  if (texts.length > facts.mostTexts)
    refuse(`At most ${facts.mostTexts} texts can be in one batch.`, "input");
  if (texts.some((text) => tokensOf(text) > (totalContext ?? Infinity) * 2))
    throw new Refusal(400, "too_long", "This model's maximum context length is exceeded.", "input");
  if (dimensions !== undefined && !givesDimensions(facts, dimensions))
    refuse("This model has no vectors of that length.", "dimensions");
}

/** Places of a vector that a word, or three letters of one, adds to. */
const PLACES = 4;
const WORD_WEIGHT = 2;
/** What tells apart texts of the same words. */
const NOISE = 0.02;

/** A vector of length one. Texts with words, or parts of words, in common are nearer to each other than others. */
function vectorOf(text: string, length: number): readonly number[] {
  const vector = new Float64Array(length);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    addFeature(vector, word, WORD_WEIGHT);
    for (let i = 0; i + 3 <= word.length; i += 1) addFeature(vector, word.slice(i, i + 3), 1);
  }
  let state = hashOf(text, 0);
  let squares = 0;
  for (let i = 0; i < length; i += 1) {
    state = next(state);
    const number = (vector[i] as number) + NOISE * (state / 2 ** 31 - 1);
    vector[i] = number;
    squares += number * number;
  }
  // What tells texts apart leaves no vector without a length.
  const norm = Math.sqrt(squares);
  return Array.from(vector, (number) => Number((number / norm).toFixed(8)));
}

function addFeature(vector: Float64Array, feature: string, weight: number): void {
  for (let i = 0; i < PLACES; i += 1) {
    const hash = hashOf(feature, i);
    const at = hash % vector.length;
    vector[at] = (vector[at] as number) + (hash & 0x10000 ? weight : -weight);
  }
}

/** FNV-1a, 32 bits. */
function hashOf(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return next(hash);
}

/** The next of a row of numbers of 32 bits (xorshift); 0 begins one, too. */
function next(state: number): number {
  let bits = state === 0 ? 0x9e3779b9 : state;
  bits ^= bits << 13;
  bits ^= bits >>> 17;
  bits ^= bits << 5;
  return bits >>> 0;
}
