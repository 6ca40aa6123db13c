import { imageSizeOf } from "../../core/media/image-size.ts";
import { present } from "../../core/json/json-value.ts";
import {
  ANY_TOOL,
  asksForLongCache,
  createKeptAnswers,
  createKeptListSizes,
  type Found,
  openFound,
  PER_TOOL,
} from "../demand.ts";
import type { Demand } from "../protocol.ts";
import type { RequestJson } from "../request-json.ts";
import { fileModality } from "../file-type.ts";
import type { ChatMessage, ChatRequestBody, MessagePart } from "./schema.ts";

/** Tokens around a message (role, separators), and around the whole. */
const PER_MESSAGE = { expected: 4, ceiling: 12 };
const PER_REQUEST = { expected: 3, ceiling: 96 };

/** Members of messages and tools inside which models of other formats have a mark for the cache. */
const MARKED = ["content", "function"];

const keptSizes = createKeptListSizes();
const keptMarks = createKeptAnswers();

/** What `body` asks for. `schemaBytes` is the length of its tools and response format as they were sent. */
export function readDemand(
  body: ChatRequestBody,
  { length }: Pick<RequestJson, "length">,
  schemaBytes: number,
): Demand {
  const tools = body.tools?.length ?? 0;
  const found = openFound(schemaBytes, [
    [PER_REQUEST, 1],
    [PER_MESSAGE, body.messages.length],
    [PER_TOOL, tools],
    [ANY_TOOL, tools > 0 ? 1 : 0],
  ]);
  found.parts(body.messages, measureMessage, keptSizes);
  return found.demand(length, {
    choices: body.n ?? 1,
    webSearches: 0,
    longCache:
      asksForLongCache(body.messages, MARKED, keptMarks) || asksForLongCache(body.tools, MARKED, keptMarks),
    ...present({
      maxOutputTokens: body.max_completion_tokens ?? body.max_tokens,
      // Absent means text, which is what goes up; a provider that does not heed it may answer with all that it can.
      outputModalities: body.modalities,
    }),
  });
}

const TEXT_FIELDS = ["reasoning_content", "reasoning", "refusal", "name", "function_call"] as const;

function measureMessage(message: ChatMessage, found: Found): void {
  const { content } = message;
  if (typeof content === "string") found.text(content);
  else if (content) for (const part of content) measurePart(part, found);
  // Calls are read by the model as JSON, whatever their kind.
  found.text(message.tool_calls);
  if (message.reasoning_details) for (const detail of message.reasoning_details) found.text(detail.thinking);
  for (const field of TEXT_FIELDS) found.text((message as Readonly<Record<string, unknown>>)[field]);
  if (message.images) for (const image of message.images) addImage(image.image_url, found);
  // OpenAI has earlier answers that were spoken come back by their id.
  if ("audio" in message && message.audio !== null) found.stored();
}

function measurePart(part: MessagePart, found: Found): void {
  found.text(part.text);
  found.text(part.refusal);
  if (part.image_url) addImage(part.image_url, found);
  if (part.video_url) found.medium("video", inlineBytes(part.video_url.url));
  // A part has one kind of audio.
  if (part.audio_url || part.input_audio)
    found.medium("audio", inlineBytes(part.audio_url?.url) + (part.input_audio?.data.length ?? 0));
  // A part of a type that only its provider knows is taken for a document: the dearest kind of input text.
  if (part.file) {
    found.medium(fileModality(part.file), inlineBytes(part.file.file_data));
    if (part.file.file_id) found.stored();
  } else if (part.type === "document_url") found.medium("pdf");
}

function addImage(link: { readonly url: string }, found: Found): void {
  const detail = "detail" in link && typeof link.detail === "string" ? link.detail : undefined;
  found.image(inlineBytes(link.url), () => imageSizeOf(link.url), detail);
}

function inlineBytes(url: string | null | undefined): number {
  return url?.startsWith("data:") === true ? url.length : 0;
}
