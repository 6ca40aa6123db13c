import { imageSizeOf, MAX_SIZED_IMAGES } from "../../core/image-size.ts";
import { isJsonObject } from "../../core/json-value.ts";
import type { Modality } from "../../core/model.ts";
import type { TokenBucket } from "../../core/price.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/token-estimate.ts";
import type { Demand, ImageInput } from "../protocol.ts";
import { fileModality } from "./files.ts";
import type { ChatMessage, ChatRequestBody } from "./schema.ts";

/** Tokens around a message (role, separators), and around the whole. */
const PER_MESSAGE = { expected: 4, ceiling: 12 };
const PER_REQUEST = { expected: 3, ceiling: 96 };

/** What the presence of tools adds at most: the instructions that vendors put before them unseen. */
const ANY_TOOL_CEILING = 600;

/** What a tool definition adds to its own text. */
const PER_TOOL = { expected: 8, ceiling: 200 };

/**
 * What `body` asks for. The guess measures the fields that models read; the bound counts every byte that goes up but
 * those of media, so that text in a field that nobody thought of is held for too. `schemaBytes` is the length of its tools and response format as they were sent.
 */
export function readDemand(body: ChatRequestBody, bodyBytes: number, schemaBytes: number): Demand {
  const size: TextSize = { ascii: schemaBytes, alphabetic: 0, ideographic: 0 };
  const media: Media = { counts: {}, images: [], imageBytes: 0, otherBytes: 0 };
  for (const message of body.messages) {
    measureMessage(message, size);
    measureMedia(message, media);
  }
  const text = estimateTokens(size);
  const textBytes = bodyBytes - media.imageBytes - media.otherBytes;
  const ceiling = Math.max(text.ceiling, Math.ceil(textBytes / 2));
  const messages = body.messages.length;
  const tools = body.tools?.length ?? 0;
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens;
  return {
    textTokens: {
      expected:
        text.expected + messages * PER_MESSAGE.expected + tools * PER_TOOL.expected + PER_REQUEST.expected,
      ceiling:
        ceiling +
        messages * PER_MESSAGE.ceiling +
        tools * PER_TOOL.ceiling +
        (tools > 0 ? ANY_TOOL_CEILING : 0) +
        PER_REQUEST.ceiling,
    },
    media: media.counts,
    images: media.images,
    mediaBytes: media.otherBytes,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    choices: body.n ?? 1,
    webSearches: 0,
    buckets: pricedBuckets(body, media.counts),
    // Absent means text, which is what goes up; a provider that does not heed it may answer with all that it can.
    ...(body.modalities === undefined ? {} : { outputModalities: body.modalities }),
  };
}

function pricedBuckets(
  body: ChatRequestBody,
  media: Readonly<Partial<Record<Modality, number>>>,
): TokenBucket[] {
  const buckets: TokenBucket[] = [];
  if (asksForLongCache(body.messages) || asksForLongCache(body.tools)) buckets.push("cache_write_1h");
  if (media.audio !== undefined) buckets.push("audio_input");
  if (body.modalities?.includes("audio") === true) buckets.push("audio_output");
  if (body.modalities?.includes("image") === true) buckets.push("image_output");
  return buckets;
}

/** Whether a `cache_control` asks for more than the usual five minutes, as models of other formats take it. */
function asksForLongCache(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(asksForLongCache);
  if (!isJsonObject(value)) return false;
  const control = value.cache_control;
  if (isJsonObject(control) && control.ttl !== undefined && control.ttl !== null && control.ttl !== "5m")
    return true;
  return asksForLongCache(value.content) || asksForLongCache(value.function);
}

function measureMessage(message: ChatMessage, size: TextSize): void {
  if (typeof message.content === "string") measureText(message.content, size);
  else if (Array.isArray(message.content)) {
    for (const part of message.content) {
      if (isGiven(part.text)) measureText(part.text, size);
      if (isGiven(part.refusal)) measureText(part.refusal, size);
    }
  }
  // Calls are read by the model as JSON, whatever their kind.
  if (message.tool_calls !== undefined) measureText(JSON.stringify(message.tool_calls), size);
  for (const detail of message.reasoning_details ?? []) measureText(detail.thinking ?? "", size);
  for (const field of ["reasoning_content", "reasoning", "refusal", "name", "function_call"] as const) {
    const value = (message as Readonly<Record<string, unknown>>)[field];
    if (value !== undefined && value !== null)
      measureText(typeof value === "string" ? value : JSON.stringify(value), size);
  }
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null;
}

/** The media of a request. Bytes are of those that stand in the body itself. */
interface Media {
  readonly counts: Partial<Record<Modality, number>>;
  readonly images: ImageInput[];
  imageBytes: number;
  otherBytes: number;
}

function measureMedia(message: ChatMessage, media: Media): void {
  for (const image of message.images ?? []) addImage(image.image_url, media);
  if (!Array.isArray(message.content)) return;
  for (const part of message.content) {
    if (isGiven(part.image_url)) addImage(part.image_url, media);
    if (isGiven(part.video_url)) count("video", media);
    if (isGiven(part.audio_url) || isGiven(part.input_audio)) count("audio", media);
    // A part of a type that only its provider knows is taken for a document: the dearest kind of input text.
    if (isGiven(part.file)) count(fileModality(part.file), media);
    else if (part.type === "document_url") count("pdf", media);
    media.otherBytes +=
      inlineBytes(part.video_url?.url) +
      inlineBytes(part.audio_url?.url) +
      inlineBytes(part.file?.file_data ?? undefined) +
      (part.input_audio?.data.length ?? 0);
  }
}

function addImage(link: { readonly url: string }, media: Media): void {
  count("image", media);
  media.imageBytes += inlineBytes(link.url);
  const size = media.images.length < MAX_SIZED_IMAGES ? imageSizeOf(link.url) : undefined;
  const detail = "detail" in link && typeof link.detail === "string" ? link.detail : undefined;
  media.images.push({ ...(size === undefined ? {} : { size }), ...(detail === undefined ? {} : { detail }) });
}

function count(kind: Modality, { counts }: Media): void {
  counts[kind] = (counts[kind] ?? 0) + 1;
}

function inlineBytes(url: string | undefined): number {
  return url?.startsWith("data:") === true ? url.length : 0;
}
