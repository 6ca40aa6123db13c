import { GatewayError } from "../../core/errors.ts";
import {
  findDuplicateKey,
  type JsonScan,
  type Member,
  memberName,
  openScan,
  readMembers,
} from "../../core/json-scan.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { compileSchema, faultSentence } from "../../core/schema.ts";
import type { RelayRequest } from "../protocol.ts";
import { readDemand } from "./demand.ts";
import { type ChatMessage, type ChatRequestBody, ChatRequestSchema, PART_TYPES } from "./schema.ts";

/** A chat completions request: its value, its bytes, and where its members stand in them. */
export interface ChatRequest extends RelayRequest {
  readonly body: ChatRequestBody;
  readonly bytes: Uint8Array;
  readonly members: readonly Member[];
  readonly byName: ReadonlyMap<string, Member>;
}

/** Nesting that any request needs, with room; deeper is an attack on whoever serialises it next. */
const MAX_DEPTH = 64;

/** Values in one body: parsing cost grows with these, not with bytes. */
const MAX_VALUES = 200_000;

const checker = compileSchema(ChatRequestSchema);
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Parses and checks the body once. Throws a `GatewayError` that names the field at fault. */
export function readRequest(bytes: Uint8Array): ChatRequest {
  const scan = openScan(bytes, bytes.length, MAX_DEPTH, MAX_VALUES);
  const members = readMembers(scan);
  if (members === undefined) throw unreadable(scan);
  const byName = indexMembers(bytes, members);
  checkMessageKeys(bytes, byName.get("messages"));
  const value = withoutNulls(parse(bytes));
  if (!checker.accepts(value)) {
    const fault = checker.faultOf(value);
    throw invalid(faultSentence(fault), fault.path);
  }
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
      bytes.length,
      spanLength(byName, "tools") + spanLength(byName, "functions") + spanLength(byName, "response_format"),
    ),
    body: value,
    bytes,
    members,
    byName,
  };
}

/** A 400 that names a field. */
export function invalid(message: string, param?: string): GatewayError {
  return new GatewayError("invalid_request_error", message, param === undefined ? {} : { param });
}

/**
 * Members by name. A name that stands twice is refused: two readers of the same bytes could see two different
 * requests, and we charge by what we read.
 */
export function indexMembers(bytes: Uint8Array, members: readonly Member[]): ReadonlyMap<string, Member> {
  const byName = new Map<string, Member>();
  for (const member of members) {
    const name = memberName(bytes, member.keyStart, member.keyEnd);
    if (byName.has(name))
      throw invalid(`${name.slice(0, 64)} stands twice in the body: send it once.`, name.slice(0, 64));
    byName.set(name, member);
  }
  return byName;
}

/** Optional fields that are null are left out, as the official clients mean it; the bytes keep them. */
function withoutNulls(value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name, field]) => field !== null || REQUIRED.has(name)),
  );
}

const REQUIRED: ReadonlySet<string> = new Set(["model", "messages"]);

/** Levels of `messages` that are read: message, content, part, and what the part holds. */
const MESSAGE_LEVELS = 4;

/** The input is charged by what the messages say, so nothing in them may be said twice either. */
function checkMessageKeys(bytes: Uint8Array, messages: Member | undefined): void {
  if (messages === undefined) return;
  const twice = findDuplicateKey(openScan(bytes, messages.valueEnd), messages.valueStart, MESSAGE_LEVELS);
  if (twice === undefined) return;
  throw invalid(`${twice.slice(0, 64)} stands twice in one object of messages: send it once.`, "messages");
}

function parse(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw invalid("The body is not valid UTF-8.");
  }
  return JSON.parse(text);
}

function unreadable(scan: JsonScan): GatewayError {
  switch (scan.failure) {
    case "depth":
      return invalid(`The body nests deeper than ${MAX_DEPTH} levels.`);
    case "values":
      return new GatewayError("input_too_large", `The body has more than ${MAX_VALUES} JSON values.`);
    case "syntax":
      return invalid("The body is not valid JSON.");
    case "":
      return invalid("The body must be a JSON object.");
  }
}

function spanLength(byName: ReadonlyMap<string, Member>, name: string): number {
  const member = byName.get(name);
  return member === undefined ? 0 : member.valueEnd - member.valueStart;
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
  if (role === "tool" && message.tool_call_id === undefined) {
    throw invalid(`${path}.tool_call_id is required on a tool message.`, `${path}.tool_call_id`);
  }
  if (Array.isArray(content)) content.forEach((part, i) => checkPart(part, `${path}.content[${i}]`));
  message.images?.forEach((image, i) =>
    checkUrl(image.image_url.url, "image", `${path}.images[${i}].image_url.url`),
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
      checkUrl(value.url, name.slice(0, -"_url".length), `${path}.${name}.url`);
  }
}

/** Links go to the provider as they are; only the schemes that a provider may be asked to fetch are let through. */
function checkUrl(url: string, kind: string, path: string): void {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(url.slice(0, 32))?.[1]?.toLowerCase();
  if (scheme === "https" || scheme === "http") {
    if (/[\s\\]/.test(url) || !URL.canParse(url)) throw invalid(`${path} is not a valid URL.`, path);
    return;
  }
  if (scheme !== "data") throw invalid(`${path} must be an http, https or data URL.`, path);
  const comma = url.indexOf(",");
  if (comma === -1) throw invalid(`${path} is a data URL without a comma.`, path);
  if (
    !url
      .slice(5, 5 + kind.length + 1)
      .toLowerCase()
      .startsWith(`${kind}/`)
  ) {
    throw invalid(
      `${path} must hold ${kind === "image" ? "an" : "a"} ${kind}: its media type says otherwise.`,
      path,
    );
  }
}

/** The first part of a type that the table does not know, as the path of its `type`. */
export function unknownPart(body: ChatRequestBody): string | undefined {
  for (const [i, { content }] of body.messages.entries()) {
    if (!Array.isArray(content)) continue;
    const at = content.findIndex((part) => !isKnownPart(part.type));
    if (at !== -1) return `messages[${i}].content[${at}].type`;
  }
  return undefined;
}

function checkTools(body: ChatRequestBody): void {
  body.tools?.forEach((tool, i) => {
    const type = tool.type ?? "function";
    if (tool[type] === undefined) {
      throw invalid(`tools[${i}].${type} is required in a tool of type ${type}.`, `tools[${i}].${type}`);
    }
  });
}
