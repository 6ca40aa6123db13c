import type { JsonObject } from "../../core/json/json-value.ts";
import { present } from "../../core/json/json-value.ts";
import { estimateTokens, measureText } from "../../core/money/token-estimate.ts";
import { compileSchema } from "../../core/schema.ts";
import { MOST_TEXTS } from "../../catalog/embedding-facts.ts";
import { schemaRefusal } from "../meant-field.ts";
import type { WireRequest } from "../protocol.ts";
import { BOUNDS, readRequestJson, withoutNulls, wrong } from "../request-json.ts";
import { CheckedRequestSchema, EMBEDDING_FIELDS } from "./schema.ts";

/** A text, or OpenAI's tokens of one. */
export type EmbeddingText = string | readonly number[];

/** A request for embeddings, as plain data. */
export interface EmbeddingRequest {
  readonly model: string;
  readonly texts: readonly EmbeddingText[];
  /** Whether the input was one text, and no list of texts. */
  readonly isOne: boolean;
  readonly dimensions?: number;
  readonly encodingFormat?: "float" | "base64";
  readonly user?: string;
  /** What the interface does not have. */
  readonly others: JsonObject;
  /** Tokens of each text: a good guess, and a bound. */
  readonly sizes: readonly TextTokens[];
}

/** Tokens of a text; tokens that came as such are counted. */
export interface TextTokens {
  readonly expected: number;
  readonly ceiling: number;
}

/** Tokens are values: OpenAI takes 300,000 in one request. */
const REQUEST_BOUNDS = { ...BOUNDS, values: 400_000 };

const MOST_TOKEN = 1_000_000;

const checker = compileSchema(CheckedRequestSchema);
const REQUIRED: ReadonlySet<string> = new Set(CheckedRequestSchema.required);

/** Reads a request for embeddings. Throws a `GatewayError` that names the field, or the text, at fault. */
export function readEmbeddingRequest(wire: Pick<WireRequest, "body" | "asked">): EmbeddingRequest {
  const value = withoutNulls(readRequestJson(wire, REQUEST_BOUNDS).value, REQUIRED);
  if (!checker.accepts(value)) throw schemaRefusal(checker.faultOf(value), value, EMBEDDING_FIELDS.meant);
  const { model, input, dimensions, encoding_format: encodingFormat, user, ...others } = value;
  const { texts, isOne } = readTexts(input);
  return {
    model,
    texts,
    isOne,
    ...present({
      dimensions: dimensions ?? undefined,
      encodingFormat: encodingFormat ?? undefined,
      user: user ?? undefined,
    }),
    others,
    sizes: texts.map(sizeOf),
  };
}

function readTexts(input: unknown): Pick<EmbeddingRequest, "texts" | "isOne"> {
  if (typeof input === "string") return { texts: [readText(input, "input")], isOne: true };
  if (!Array.isArray(input))
    throw wrong("input", "must be a string, an array of strings, or an array of tokens");
  const items: readonly unknown[] = input;
  if (items.length === 0) throw wrong("input", "must not be empty");
  if (typeof items[0] === "number") return { texts: [readTokens(items, "input")], isOne: true };
  if (items.length > MOST_TEXTS) throw wrong("input", `must have at most ${MOST_TEXTS} texts`);
  const hasTokens = Array.isArray(items[0]);
  const texts = items.map((item, i) => {
    const path = `input[${i}]`;
    if (!hasTokens) return readText(item, path);
    if (!Array.isArray(item)) throw wrong(path, "must be an array of tokens, as the first is");
    return readTokens(item as readonly unknown[], path);
  });
  return { texts, isOne: false };
}

function readText(text: unknown, path: string): string {
  if (typeof text !== "string") throw wrong(path, "must be a string");
  if (text === "") throw wrong(path, "must not be empty");
  return text;
}

function readTokens(tokens: readonly unknown[], path: string): readonly number[] {
  if (tokens.length === 0) throw wrong(path, "must not be empty");
  const odd = tokens.findIndex(
    (token) => !Number.isInteger(token) || (token as number) < 0 || (token as number) > MOST_TOKEN,
  );
  if (odd !== -1) throw wrong(`${path}[${odd}]`, "must be a token, a whole number of 0 or more");
  return tokens as readonly number[];
}

function sizeOf(text: EmbeddingText): TextTokens {
  if (typeof text !== "string") return { expected: text.length, ceiling: text.length };
  const size = { ascii: 0, alphabetic: 0, ideographic: 0 };
  measureText(text, size);
  return estimateTokens(size);
}
