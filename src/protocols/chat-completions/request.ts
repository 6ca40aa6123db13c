import { PART_TYPES } from "../../catalog/parameter-tables/chat-completions.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { compileSchema } from "../../core/schema.ts";
import { checkMediaUrl } from "../links.ts";
import { schemaRefusal } from "../meant-field.ts";
import type { RelayRequest, WireRequest } from "../protocol.ts";
import {
  invalid,
  readRequestJson,
  refuseTwiceWithin,
  type RequestJson,
  spanLength,
  withoutNulls,
} from "../request-json.ts";
import { readDemand } from "./demand.ts";
import { CHAT_FIELDS, type ChatMessage, type ChatRequestBody, ChatRequestSchema } from "./schema.ts";

/** A chat completions request: its value, and its bytes with where its members stand in them. */
export interface ChatRequest extends RelayRequest {
  readonly body: ChatRequestBody;
  readonly json: RequestJson;
}

/** Levels that are read: of `messages` message, content, part, and what the part holds; of `tools` a tool and its function. */
const READ_LEVELS = { messages: 4, stream_options: 0, tools: 2 };

const REQUIRED: ReadonlySet<string> = new Set(ChatRequestSchema.required);

const checker = compileSchema(ChatRequestSchema);

/** Parses and checks the body once. Throws a `GatewayError` that names the field at fault. */
export function readRequest(wire: WireRequest): ChatRequest {
  const json = readRequestJson(wire);
  for (const [name, levels] of Object.entries(READ_LEVELS)) refuseTwiceWithin(json, name, levels);
  const value: JsonObject = withoutNulls(json.value, REQUIRED);
  if (!checker.accepts(value)) throw schemaRefusal(checker.faultOf(value), value, CHAT_FIELDS.meant);
  value.messages.forEach((message, i) => checkMessage(message, `messages[${i}]`));
  checkTools(value);
  if (value.stream === true && value.modalities?.includes("image") === true) {
    throw invalid(
      "stream must be false when modalities asks for an image: image output is not streamed.",
      "stream",
    );
  }
  return {
    model: value.model,
    stream: value.stream === true,
    demand: readDemand(
      value,
      json.bytes.length,
      spanLength(json, "tools") + spanLength(json, "functions") + spanLength(json, "response_format"),
    ),
    body: value,
    json,
  };
}

function checkMessage(message: ChatMessage, path: string): void {
  const { role, content } = message;
  const calls =
    message.tool_calls !== undefined && message.tool_calls !== null && message.tool_calls.length > 0;
  const legacyCall = "function_call" in message;
  const silent = role === "assistant" && (calls || legacyCall || "audio" in message);
  if (Array.isArray(content) && content.length === 0 && !silent) {
    throw invalid(`${path}.content must not be empty.`, `${path}.content`);
  }
  if (content === undefined && !silent) {
    throw invalid(`${path}.content is required.`, `${path}.content`);
  }
  if (content === null && role !== "assistant" && role !== "function") {
    throw invalid(`${path}.content must be a string or an array of parts.`, `${path}.content`);
  }
  if (role === "tool" && typeof message.tool_call_id !== "string") {
    throw invalid(`${path}.tool_call_id is required on a tool message.`, `${path}.tool_call_id`);
  }
  if (Array.isArray(content)) content.forEach((part, i) => checkPart(part, `${path}.content[${i}]`));
  message.images?.forEach((image, i) =>
    checkMediaUrl(image.image_url.url, "image", `${path}.images[${i}].image_url.url`),
  );
}

type Part = Extract<NonNullable<ChatMessage["content"]>, readonly unknown[]>[number];

/** The sub-field that carries a part of each type. */
const CARRIER: Readonly<Record<(typeof PART_TYPES)[number], keyof Part>> = {
  text: "text",
  refusal: "refusal",
  image_url: "image_url",
  video_url: "video_url",
  audio_url: "audio_url",
  input_audio: "input_audio",
  file: "file",
};

function isKnownPart(type: string): type is (typeof PART_TYPES)[number] {
  return (PART_TYPES as readonly string[]).includes(type);
}

function checkPart(part: Part, path: string): void {
  // A type that the table does not know is for the provider to judge; admission refuses it where none opted in.
  if (!isKnownPart(part.type)) return;
  const carrier = CARRIER[part.type];
  if (part[carrier] === undefined || part[carrier] === null)
    throw invalid(`${path}.${carrier} is required in a part of type ${part.type}.`, `${path}.${carrier}`);
  const link = { image_url: part.image_url, video_url: part.video_url, audio_url: part.audio_url };
  for (const [name, value] of Object.entries(link)) {
    if (value !== undefined && value !== null)
      checkMediaUrl(value.url, name.slice(0, -"_url".length), `${path}.${name}.url`);
  }
}

/** The first part of a type that neither the table nor `own` knows, as the path of its `type`. */
export function unknownPart(body: ChatRequestBody, own: readonly string[] = []): string | undefined {
  for (const [i, { content }] of body.messages.entries()) {
    if (!Array.isArray(content)) continue;
    const at = content.findIndex((part) => !isKnownPart(part.type) && !own.includes(part.type));
    if (at !== -1) return `messages[${i}].content[${at}].type`;
  }
  return undefined;
}

function checkTools(body: ChatRequestBody): void {
  body.tools?.forEach((tool, i) => {
    const type = tool.type ?? "function";
    if (tool[type] === undefined || tool[type] === null) {
      throw invalid(`tools[${i}].${type} is required in a tool of type ${type}.`, `tools[${i}].${type}`);
    }
  });
}
