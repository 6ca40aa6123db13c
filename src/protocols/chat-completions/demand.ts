import { imageSizeOf } from "../../core/image-size.ts";
import { measureText, type TextSize } from "../../core/token-estimate.ts";
import {
  addImage,
  addMedium,
  ANY_TOOL,
  asksForLongCache,
  type Found,
  inputOf,
  mediaBuckets,
  openFound,
  PER_TOOL,
} from "../demand.ts";
import type { Demand } from "../protocol.ts";
import { fileModality } from "./files.ts";
import type { ChatMessage, ChatRequestBody } from "./schema.ts";

/** Tokens around a message (role, separators), and around the whole. */
const PER_MESSAGE = { expected: 4, ceiling: 12 };
const PER_REQUEST = { expected: 3, ceiling: 96 };

/** Members of messages and tools inside which models of other formats have a mark for the cache. */
const MARKED = ["content", "function"];

/** What `body` asks for. `schemaBytes` is the length of its tools and response format as they were sent. */
export function readDemand(body: ChatRequestBody, bodyBytes: number, schemaBytes: number): Demand {
  const found = openFound(schemaBytes);
  for (const message of body.messages) {
    measureMessage(message, found.size);
    measureMedia(message, found);
  }
  const tools = body.tools?.length ?? 0;
  const maxOutputTokens = body.max_completion_tokens ?? body.max_tokens;
  const isLong = [body.messages, body.tools].some((marked) => asksForLongCache(marked, MARKED));
  return {
    ...inputOf(found, bodyBytes, [
      [PER_REQUEST, 1],
      [PER_MESSAGE, body.messages.length],
      [PER_TOOL, tools],
      [ANY_TOOL, tools > 0 ? 1 : 0],
    ]),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    choices: body.n ?? 1,
    webSearches: 0,
    buckets: [...(isLong ? (["cache_write_1h"] as const) : []), ...mediaBuckets(found, body.modalities)],
    // Absent means text, which is what goes up; a provider that does not heed it may answer with all that it can.
    ...(body.modalities === undefined ? {} : { outputModalities: body.modalities }),
  };
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

function measureMedia(message: ChatMessage, found: Found): void {
  for (const image of message.images ?? []) addLinkedImage(image.image_url, found);
  if (!Array.isArray(message.content)) return;
  for (const part of message.content) {
    if (isGiven(part.image_url)) addLinkedImage(part.image_url, found);
    if (isGiven(part.video_url)) addMedium("video", found, inlineBytes(part.video_url.url));
    // A part has one kind of audio.
    if (isGiven(part.audio_url) || isGiven(part.input_audio))
      addMedium("audio", found, inlineBytes(part.audio_url?.url) + (part.input_audio?.data.length ?? 0));
    // A part of a type that only its provider knows is taken for a document: the dearest kind of input text.
    if (isGiven(part.file)) addMedium(fileModality(part.file), found, inlineBytes(part.file.file_data));
    else if (part.type === "document_url") addMedium("pdf", found);
  }
}

function addLinkedImage(link: { readonly url: string }, found: Found): void {
  const detail = "detail" in link && typeof link.detail === "string" ? link.detail : undefined;
  addImage(found, inlineBytes(link.url), () => imageSizeOf(link.url), detail);
}

function inlineBytes(url: string | null | undefined): number {
  return url?.startsWith("data:") === true ? url.length : 0;
}
