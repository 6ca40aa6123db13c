import type { Changes, Path } from "../changes.ts";
import { type ChatDialect, REASONING_FIELDS, type ReasoningField } from "../chat-dialect.ts";
import { createSeenLists, type SeenLists } from "../../core/json/kept.ts";
import { isJsonObject, objectsIn } from "../../core/json/json-value.ts";
import { printable } from "../printable.ts";
import type { RelayTarget } from "../protocol.ts";
import { MOST_WARNINGS } from "../warnings.ts";
import { isEmpty } from "./empty.ts";
import type { ChatRequest } from "./request.ts";
import type { ChatMessage } from "./schema.ts";
import { mapToolIds } from "./tool-ids.ts";

/** A request on its way to a target. */
export interface Way {
  readonly request: ChatRequest;
  readonly target: RelayTarget;
  readonly chat: ChatDialect;
  readonly changes: Changes;
  /** What the caller calls a field of this format. */
  readonly called: (field: string) => string;
}

/** What messages are rewritten by. */
interface MessageRules extends Omit<Way, "called"> {
  readonly ids: ReadonlyMap<string, string>;
  /** Every assistant message must carry `reasoning_content`. */
  readonly reasoningAlways: boolean;
  /** Members that were left out and missed. */
  readonly left: Set<string>;
}

/**
 * Puts messages as the target takes them. It changes reasoning and images of earlier answers, and members that the
 * target does not know. It also changes roles, null content, ids of tool calls, and signatures in data URLs.
 */
export function changeMessages(way: Way, thinks: boolean): void {
  const { request, target, chat, changes } = way;
  const { model } = target;
  const ids = mapToolIds(request.body, chat.toolIds);
  // The model wants it, and this provider of it is the kind that takes it; a router sees to it itself.
  const reasoningAlways =
    thinks &&
    model.thinking?.reasoningBackAlways === true &&
    chat.reasoningBack.includes("reasoning_content") &&
    chat.thinking.effort !== "reasoning" &&
    usesTools(request);
  const rules: MessageRules = { request, target, chat, changes, ids, reasoningAlways, left: new Set() };
  // A model that puts out images signs them itself, behind whatever server, and wants that back.
  const keepsSignatures = chat.imageSignatures || model.outputModalities.includes("image");
  const { messages } = request.body;
  // Google's alone sign calls.
  const keepsCallSignatures = chat.foreignDetails || model.id.startsWith("google/");
  const asTheyAre = unchangedMessages(
    chat,
    Number(keepsSignatures) + 2 * Number(reasoningAlways) + 4 * Number(keepsCallSignatures),
  );
  const before = changes.count;
  // New ids are those of all messages.
  for (let i = ids.size === 0 ? asTheyAre.count(messages) : 0; i < messages.length; i += 1) {
    const message = messages[i] as ChatMessage;
    changeMembers(message, i, rules);
    if (ids.size > 0) changeIds(message, i, rules);
    if (!keepsSignatures) cutSignatures(message, i, rules);
    if (!keepsCallSignatures) cutCallSignatures(message, i, rules);
  }
  if (ids.size === 0 && changes.count === before) asTheyAre.add(messages);
  for (const name of rules.left)
    changes.warn(`${name} of earlier messages was left out: this model's provider does not take it`);
}

/** Messages that went up as they were, by all that they are rewritten by: a list for each choice of the three rules. */
const unchanged = new WeakMap<ChatDialect, SeenLists[]>();

function unchangedMessages(chat: ChatDialect, rules: number): SeenLists {
  const ways = unchanged.getOrInsertComputed(chat, eightLists);
  return ways[rules] as SeenLists;
}

function eightLists(): SeenLists[] {
  return Array.from({ length: 8 }, createSeenLists);
}

function usesTools({ body }: ChatRequest): boolean {
  return body.tools !== undefined || body.messages.some(({ tool_calls: calls }) => !isEmpty(calls));
}

/** Whether a member of a message goes up. */
function keeps(message: ChatMessage, name: string, chat: ChatDialect): boolean {
  if (name === "images") return chat.messageImages;
  if (!isReasoning(name)) return chat.messageFields?.includes(name) ?? true;
  if (!chat.reasoningBack.includes(name)) return false;
  if (name !== "reasoning_details" || chat.foreignDetails) return true;
  // OpenRouter's own items are `reasoning.text` and the like; ours are of another issuer.
  return message.reasoning_details?.every(({ type }) => type.startsWith("reasoning.")) === true;
}

/** What most messages are made of, and every server takes that does not list what it takes. */
const ALWAYS_KEPT: ReadonlySet<string> = new Set(["role", "content", "tool_calls", "tool_call_id", "name"]);

function isReasoning(name: string): name is ReasoningField {
  return (REASONING_FIELDS as readonly string[]).includes(name);
}

function changeMembers(message: ChatMessage, i: number, rules: MessageRules): void {
  const { chat, changes, left } = rules;
  const renamed = takesUnderOtherName(message, chat);
  // Every message of a session passes here: `for in` makes no list of its members.
  for (const name in message) {
    if (chat.messageFields === undefined && ALWAYS_KEPT.has(name)) continue;
    if (renamed && name === "reasoning") changes.rename(["messages", i, name], "reasoning_content");
    else if (!keeps(message, name, chat) || (renamed && name === "reasoning_content")) {
      changes.remove(["messages", i, name]);
      if (left.size < MOST_WARNINGS && isMissed(message, name, chat)) left.add(printable(name));
    }
  }
  if (message.role === "developer" && !chat.developerRole) changes.set(["messages", i, "role"], "system");
  if (message.content === null && !chat.nullContent) changes.set(["messages", i, "content"], "");
  if (!rules.reasoningAlways || message.role !== "assistant" || renamed) return;
  if (typeof message.reasoning_content !== "string") changes.set(["messages", i, "reasoning_content"], "");
}

/**
 * Whether a member that is left out said something that goes up nowhere else. Some clients give the same reasoning back
 * in all the forms there are.
 */
function isMissed(message: ChatMessage, name: string, chat: ChatDialect): boolean {
  if (isEmpty(message[name])) return false;
  if (!isReasoning(name)) return true;
  return !chat.reasoningBack.some(
    (other) => other !== name && keeps(message, other, chat) && !isEmpty(message[other]),
  );
}

/** `reasoning` of another vendor is the same text as `reasoning_content`. */
function takesUnderOtherName(message: ChatMessage, { reasoningBack }: ChatDialect): boolean {
  return (
    typeof message.reasoning === "string" &&
    reasoningBack.includes("reasoning_content") &&
    !reasoningBack.includes("reasoning") &&
    isEmpty(message.reasoning_content)
  );
}

function changeIds(message: ChatMessage, i: number, { chat, ids, changes }: MessageRules): void {
  const change = (id: string | null | undefined, path: Path): void => {
    const changed = ids.get(id ?? "");
    if (changed !== undefined) changes.set(path, changed);
  };
  change(message.tool_call_id, ["messages", i, "tool_call_id"]);
  if (keeps(message, "tool_calls", chat))
    message.tool_calls?.forEach(({ id }, j) => change(id, ["messages", i, "tool_calls", j, "id"]));
}

/** Writes the headers of data URLs anew without signatures; the images' bytes stay. */
function cutSignatures(message: ChatMessage, i: number, { chat, changes }: MessageRules): void {
  for (const name of MEDIA_LISTS) {
    const parts = message[name];
    if (!Array.isArray(parts) || !keeps(message, name, chat)) continue;
    for (const [j, { image_url: link }] of parts.entries()) {
      const header = headerOf(link?.url ?? "");
      const clean = header.replaceAll(SIGNATURE, "");
      if (clean !== header) changes.setStart(["messages", i, name, j, "image_url", "url"], header, clean);
    }
  }
}

const MEDIA_LISTS = ["content", "images"] as const;

/** What Google's model has signed a call with is nothing that another vendor's can read. */
function cutCallSignatures(message: ChatMessage, i: number, { chat, changes, left }: MessageRules): void {
  if (isEmpty(message.tool_calls) || !keeps(message, "tool_calls", chat)) return;
  for (const [j, { extra_content: extra }] of objectsIn(message.tool_calls).entries()) {
    if (!isJsonObject(extra) || extra.google === undefined) continue;
    const isAll = Object.keys(extra).length === 1;
    changes.remove(["messages", i, "tool_calls", j, "extra_content", ...(isAll ? [] : ["google"])]);
    left.add("tool_calls[].extra_content.google");
  }
}

const SIGNATURE = /;\s*thought_signature=[^;,]*/gi;

/** The media type of a data URL: what stands before its first comma. */
function headerOf(url: string): string {
  const comma = url.indexOf(",");
  return /^data:/i.test(url.slice(0, 5)) && comma !== -1 ? url.slice(0, comma) : "";
}
