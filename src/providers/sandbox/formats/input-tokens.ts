import { type ImageSize, imageSizeOf, rawImageSizeOf } from "../../../core/media/image-size.ts";
import { isJsonObject } from "../../../core/json/json-value.ts";
import type { Model } from "../../../core/model.ts";
import { fieldNames } from "../members.ts";
import { tokensOf } from "../text-pieces.ts";

/** A medium whose size is not known. */
export const MEDIUM_TOKENS = 258;

/** The most that an image comes to, where its model has no bound. */
export const MOST_IMAGE_TOKENS = 1_500;

/** What stands around a message, and around the whole. */
const PER_MESSAGE = 4;
const PER_REQUEST = 3;

/** Members that hold a medium or say where it is, and how its size is found. */
const SIZES: Readonly<Record<string, (value: string) => ImageSize | undefined>> = {
  url: imageSizeOf,
  image_url: imageSizeOf,
  fileUri: imageSizeOf,
  data: rawImageSizeOf,
  file_data: () => undefined,
};

/** Members that hold signatures, or name things: a model reads none of them. */
const UNREAD = fieldNames(`signature thoughtSignature thought_signature encrypted_content
  type role id tool_use_id tool_call_id mimeType media_type detail`);

/**
 * Input tokens of a request, about as a tokenizer would count them. It counts the request's turns, and its tools and
 * forms (`schemas`) as they stand in the request. An image counts no more than the model has any count for.
 */
export function inputTokensOf(model: Model, turns: readonly unknown[], schemas: readonly unknown[]): number {
  const { imageTokens, mediaTokenCeiling } = model;
  const bounds = [mediaTokenCeiling.image, imageTokens?.high].map((bound) => bound ?? Infinity);
  const most = Math.min(MOST_IMAGE_TOKENS, ...bounds);
  const texts: string[] = [];
  let media = 0;
  const read = (value: unknown, name: string, room: number): void => {
    if (typeof value === "string") {
      const size = Object.hasOwn(SIZES, name) ? SIZES[name] : undefined;
      if (size !== undefined) media += mediumTokens(size(value), room);
      else if (!UNREAD.has(name)) texts.push(value);
    } else if (Array.isArray(value)) for (const item of value as readonly unknown[]) read(item, name, room);
    else if (isJsonObject(value)) {
      const within = value.detail === "low" ? Math.min(room, imageTokens?.low ?? room) : room;
      for (const [key, member] of Object.entries(value)) read(member, key, within);
    } else if (value !== null && value !== undefined) texts.push(JSON.stringify(value));
  };
  for (const turn of turns) read(turn, "", most);
  for (const schema of schemas) if (schema !== undefined) texts.push(JSON.stringify(schema));
  return tokensOf(...texts) + media + turns.length * PER_MESSAGE + PER_REQUEST;
}

function mediumTokens(size: ImageSize | undefined, room: number): number {
  if (size === undefined) return Math.min(MEDIUM_TOKENS, room);
  return Math.min(room, Math.max(1, Math.floor((size.width * size.height) / 1_024)));
}
