import type { Modality } from "../../core/model.ts";
import type { TokenBucket } from "../../core/price.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/token-estimate.ts";
import type { Demand } from "../protocol.ts";
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
  const media: Partial<Record<Modality, number>> = {};
  for (const message of body.messages) measureMessage(message, size, media);
  const text = estimateTokens(size);
  const mediaBytes = measureMedia(body);
  const ceiling = Math.max(text.ceiling, Math.ceil((bodyBytes - mediaBytes) / 2));
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
    media,
    mediaBytes,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    choices: body.n ?? 1,
    buckets: pricedBuckets(body, media),
    outputModalities: body.modalities ?? ["text"],
  };
}

function pricedBuckets(
  body: ChatRequestBody,
  media: Readonly<Partial<Record<Modality, number>>>,
): TokenBucket[] {
  const buckets: TokenBucket[] = [];
  if (media.audio !== undefined) buckets.push("audio_input");
  if (body.modalities?.includes("audio") === true) buckets.push("audio_output");
  if (body.modalities?.includes("image") === true) buckets.push("image_output");
  return buckets;
}

function measureMessage(
  message: ChatMessage,
  size: TextSize,
  media: Partial<Record<Modality, number>>,
): void {
  const add = (kind: Modality): void => {
    media[kind] = (media[kind] ?? 0) + 1;
  };
  if (typeof message.content === "string") measureText(message.content, size);
  else if (Array.isArray(message.content)) {
    for (const part of message.content) {
      if (isGiven(part.text)) measureText(part.text, size);
      if (isGiven(part.refusal)) measureText(part.refusal, size);
      if (isGiven(part.image_url)) add("image");
      if (isGiven(part.video_url)) add("video");
      if (isGiven(part.audio_url) || isGiven(part.input_audio)) add("audio");
      // A part of a type that only its provider knows is taken for a document: the dearest kind of input text.
      if (isGiven(part.file) || part.type === "document_url") add("pdf");
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
  for (const _ of message.images ?? []) add("image");
}

function isGiven<Value>(value: Value | null | undefined): value is Value {
  return value !== undefined && value !== null;
}

/** Bytes of media that stand in the body itself. */
function measureMedia(body: ChatRequestBody): number {
  let bytes = 0;
  const add = (url: string | undefined): void => {
    if (url?.startsWith("data:") === true) bytes += url.length;
  };
  for (const message of body.messages) {
    for (const image of message.images ?? []) add(image.image_url.url);
    if (!Array.isArray(message.content)) continue;
    for (const part of message.content) {
      add(part.image_url?.url);
      add(part.video_url?.url);
      add(part.audio_url?.url);
      add(part.file?.file_data);
      bytes += part.input_audio?.data.length ?? 0;
    }
  }
  return bytes;
}
