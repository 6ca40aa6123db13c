import { type ImageSize, imageSizeOf, rawImageSizeOf } from "../../core/image-size.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { tokensOf } from "./text-pieces.ts";

/** A medium whose size is not known. */
const MEDIUM_TOKENS = 258;

/** What stands around a message, and around the whole. */
const PER_MESSAGE = 4;
const PER_REQUEST = 3;

/** Members that hold bytes and no text. */
const BYTES = new Set(["data", "file_data", "signature", "thoughtSignature", "thought_signature"]);

/** Members that say where a medium is. */
const LINKS = new Set(["url", "fileUri"]);

/** Members that name things and are not read by a model. */
const NAMES = new Set([
  "type",
  "role",
  "id",
  "tool_use_id",
  "tool_call_id",
  "mimeType",
  "media_type",
  "detail",
]);

/**
 * Input tokens of a request, about as a tokenizer would count them: its turns, and its tools and forms (`schemas`) as
 * they stand in the request.
 */
export function inputTokensOf(turns: readonly unknown[], schemas: readonly unknown[]): number {
  const texts: string[] = [];
  let media = 0;
  const read = (value: unknown, name: string): void => {
    if (typeof value === "string") {
      if (LINKS.has(name)) media += mediumTokens(imageSizeOf(value));
      else if (BYTES.has(name)) media += name === "data" ? mediumTokens(rawImageSizeOf(value)) : 0;
      else if (!NAMES.has(name)) texts.push(value);
    } else if (Array.isArray(value)) for (const item of value as readonly unknown[]) read(item, name);
    else if (isJsonObject(value)) readMembers(value);
    else if (value !== null && value !== undefined) texts.push(JSON.stringify(value));
  };
  const readMembers = (value: JsonObject): void => {
    for (const [name, member] of Object.entries(value)) read(member, name);
  };
  for (const turn of turns) read(turn, "");
  for (const schema of schemas) if (schema !== undefined) texts.push(JSON.stringify(schema));
  return tokensOf(...texts) + media + turns.length * PER_MESSAGE + PER_REQUEST;
}

function mediumTokens(size: ImageSize | undefined): number {
  if (size === undefined) return MEDIUM_TOKENS;
  return Math.min(1_500, Math.max(1, Math.ceil((size.width * size.height) / 1_024)));
}
