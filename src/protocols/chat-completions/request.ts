import { PART_TYPES, type PartType } from "../../catalog/parameter-tables/chat-completions.ts";
import type { JsonObject } from "../../core/json/json-value.ts";
import { createSeenLists, type SeenLists } from "../../core/json/kept.ts";
import { compileSchema } from "../../core/schema.ts";
import { readAskedJson } from "../asked-models.ts";
import { checkMediaUrl } from "../links.ts";
import type { CarrierKey } from "../carrier.ts";
import { schemaRefusal } from "../meant-field.ts";
import type { RelayRequest, WireRequest } from "../protocol.ts";
import {
  refuseTwiceWithin,
  type RequestJson,
  spanLength,
  withoutNulls,
  writeRequestJson,
  wrong,
} from "../request-json.ts";
import { readDemand } from "./demand.ts";
import { isEmpty } from "./empty.ts";
import {
  CHAT_FIELDS,
  type ChatMessage,
  type ChatRequestBody,
  ChatRequestSchema,
  type MessagePart,
} from "./schema.ts";

/** A chat completions request: its value, and its bytes with where its members stand in them. */
export interface ChatRequest extends RelayRequest {
  readonly body: ChatRequestBody;
  readonly json: RequestJson;
}

/** Levels that are read: of `messages` message, content, part, and what the part holds; of `tools` a tool and its function. */
const READ_LEVELS = Object.entries({ messages: 4, stream_options: 0, tools: 2 });

const REQUIRED: ReadonlySet<string> = new Set(ChatRequestSchema.required);

const checker = compileSchema(ChatRequestSchema);

/** Messages and tools that were found good. */
const good = { messages: createSeenLists(), tools: createSeenLists() };

/** Parses and checks the body once. Throws a `GatewayError` that names the field at fault. */
export function readRequest(wire: WireRequest): ChatRequest {
  const { json, models } = readAskedJson(wire);
  const checked = checkedRequest(json, wire.carrier);
  const request = models === undefined ? checked : { ...checked, models };
  if (request.stream && request.body.modalities?.includes("image") === true)
    throw wrong("stream", "must be false when modalities asks for an image: image output is not streamed");
  return request;
}

/** Checks a body that was written here; see `ClientEnd`. */
export function readWritten(value: JsonObject): ChatRequest {
  return checkedRequest(writeRequestJson(value), undefined);
}

function checkedRequest(json: RequestJson, carrier: CarrierKey | undefined): ChatRequest {
  for (const [name, levels] of READ_LEVELS) refuseTwiceWithin(json, name, levels);
  const value: JsonObject = withoutNulls(json.value, REQUIRED);
  const known = { messages: good.messages.count(value.messages), tools: good.tools.count(value.tools) };
  if (!checker.accepts(value, known)) throw schemaRefusal(checker.faultOf(value), value, CHAT_FIELDS.meant);
  const { messages, tools = [] } = value;
  for (let i = known.messages; i < messages.length; i += 1)
    checkMessage(messages[i] as ChatMessage, `messages[${i}]`);
  for (let i = known.tools; i < tools.length; i += 1) checkTool(tools[i] as Tool, `tools[${i}]`);
  good.messages.add(messages);
  good.tools.add(tools);
  const schemaBytes =
    spanLength(json, "tools") + spanLength(json, "functions") + spanLength(json, "response_format");
  return {
    model: value.model,
    stream: value.stream === true,
    demand: readDemand(value, json, schemaBytes),
    body: value,
    json,
    carrier,
  };
}

function checkMessage(message: ChatMessage, path: string): void {
  const { role, content, images } = message;
  const mayBeSilent =
    role === "assistant" &&
    (!isEmpty(message.tool_calls) || "function_call" in message || "audio" in message);
  if (Array.isArray(content) && content.length === 0 && !mayBeSilent)
    throw wrong(`${path}.content`, "must not be empty");
  if (content === undefined && !mayBeSilent) throw wrong(`${path}.content`, "is required");
  if (content === null && role !== "assistant" && role !== "function")
    throw wrong(`${path}.content`, "must be a string or an array of parts");
  if (role === "tool" && typeof message.tool_call_id !== "string")
    throw wrong(`${path}.tool_call_id`, "is required on a tool message");
  if (Array.isArray(content))
    for (const [i, part] of content.entries()) checkPart(part, `${path}.content[${i}]`);
  if (images)
    for (const [i, image] of images.entries())
      checkMediaUrl(image.image_url.url, "image", `${path}.images[${i}].image_url.url`);
}

function isPartType(type: string): type is PartType {
  return (PART_TYPES as readonly string[]).includes(type);
}

/** A part has a member of the name of its type. */
function checkPart(part: MessagePart, path: string): void {
  const { type } = part;
  // A type that the table does not know is for the provider to judge; admission refuses it where none opted in.
  if (!isPartType(type)) return;
  if (part[type] === undefined || part[type] === null)
    throw wrong(`${path}.${type}`, `is required in a part of type ${type}`);
  for (const kind of ["image", "video", "audio"] as const) {
    const link = part[`${kind}_url`];
    if (link !== undefined && link !== null) checkMediaUrl(link.url, kind, `${path}.${kind}_url.url`);
  }
}

/** Throws a 400 that names the first part of a type that neither the table nor `own` knows. */
export function refuseUnknownParts({ messages }: ChatRequestBody, own: readonly string[] = NO_TYPES): void {
  const known = knownParts.getOrInsertComputed(own, createSeenLists);
  for (let i = known.count(messages); i < messages.length; i += 1) {
    const content = messages[i]?.content;
    if (!Array.isArray(content)) continue;
    const at = content.findIndex(({ type }) => !isPartType(type) && !own.includes(type));
    if (at === -1) continue;
    const types = PART_TYPES.filter((type) => type !== "refusal").join(", ");
    throw wrong(`messages[${i}].content[${at}].type`, `must be one of ${types}`);
  }
  known.add(messages);
}

const NO_TYPES: readonly string[] = [];

/** Messages whose parts were found to be of known types, by the types that are known beside the table's. */
const knownParts = new WeakMap<readonly string[], SeenLists>();

type Tool = NonNullable<ChatRequestBody["tools"]>[number];

function checkTool(tool: Tool, path: string): void {
  const type = tool.type ?? "function";
  if (tool[type] === undefined || tool[type] === null)
    throw wrong(`${path}.${type}`, `is required in a tool of type ${type}`);
}
