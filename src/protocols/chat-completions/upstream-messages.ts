import { isJsonObject } from "../../core/json-value.ts";
import type { Changes, Path } from "../changes.ts";
import { type ChatDialect, REASONING_FIELDS, type ReasoningField } from "../chat-dialect.ts";
import { printable } from "../printable.ts";
import type { RelayTarget } from "../protocol.ts";
import { MOST_WARNINGS } from "../warnings.ts";
import type { ChatRequest } from "./request.ts";
import type { ChatMessage } from "./schema.ts";
import { mapToolIds } from "./tool-ids.ts";

/** What messages are rewritten by. */
interface MessageRules {
  readonly chat: ChatDialect;
  readonly ids: ReadonlyMap<string, string>;
  /** Every assistant message must carry `reasoning_content`. */
  readonly reasoningAlways: boolean;
}

/**
 * Puts messages as the target takes them: reasoning and images of earlier answers, members that it does not know,
 * roles, null content, ids of tool calls, signatures in data URLs.
 */
export function changeMessages(
  request: ChatRequest,
  target: RelayTarget,
  chat: ChatDialect,
  thinks: boolean,
  changes: Changes,
): void {
  const rules: MessageRules = {
    chat: ofPainter(chat, target),
    ids: mapToolIds(request.body, chat.toolIds),
    reasoningAlways: thinks && wantsReasoningAlways(target, chat) && usesTools(request),
  };
  const left = new Set<string>();
  request.body.messages.forEach((message, i) => {
    const at = ["messages", i];
    changeMembers(message, at, rules, left, changes);
    if (rules.ids.size > 0) changeIds(message, at, rules, changes);
    if (!rules.chat.imageSignatures) cutSignatures(message, at, rules, changes);
  });
  for (const name of left)
    changes.warn(`${name} of earlier messages was left out: this model's provider does not take it`);
}

/** A model that puts out images has signed them itself, behind whatever server, and must have its signatures back. */
function ofPainter(chat: ChatDialect, { model }: RelayTarget): ChatDialect {
  return model.outputModalities.includes("image") ? { ...chat, imageSignatures: true } : chat;
}

/** The model wants it, and this provider of it is the kind that takes it; a router sees to it itself. */
function wantsReasoningAlways({ model }: RelayTarget, chat: ChatDialect): boolean {
  return (
    model.thinking?.reasoningBackAlways === true &&
    chat.reasoningBack.includes("reasoning_content") &&
    chat.thinking.effort !== "reasoning"
  );
}

function usesTools({ body }: ChatRequest): boolean {
  return body.tools !== undefined || body.messages.some((message) => (message.tool_calls?.length ?? 0) > 0);
}

function valueOf(message: ChatMessage, name: string): unknown {
  return (message as Readonly<Record<string, unknown>>)[name];
}

/** Whether a member of a message goes up. */
function keeps(message: ChatMessage, name: string, chat: ChatDialect): boolean {
  if (isReasoning(name)) {
    if (!chat.reasoningBack.includes(name)) return false;
    // OpenRouter's own items are `reasoning.text` and the like; ours are of another issuer.
    if (name !== "reasoning_details" || chat.foreignDetails) return true;
    return everyItemIsOpenRouters(valueOf(message, name));
  }
  if (name === "images") return chat.messageImages;
  return chat.messageFields === undefined || chat.messageFields.includes(name);
}

function isReasoning(name: string): name is ReasoningField {
  return (REASONING_FIELDS as readonly string[]).includes(name);
}

function everyItemIsOpenRouters(details: unknown): boolean {
  return (
    Array.isArray(details) &&
    details.every(
      (item) => isJsonObject(item) && typeof item.type === "string" && item.type.startsWith("reasoning."),
    )
  );
}

/** Whether a member says nothing, so that nobody misses it. */
function isSilent(value: unknown): boolean {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

function changeMembers(
  message: ChatMessage,
  at: Path,
  { chat, reasoningAlways }: MessageRules,
  left: Set<string>,
  changes: Changes,
): void {
  const renamed = takesUnderOtherName(message, chat);
  for (const name of Object.keys(message)) {
    if (renamed && name === "reasoning") changes.rename([...at, name], "reasoning_content");
    else if (!keeps(message, name, chat) || (renamed && name === "reasoning_content")) {
      changes.remove([...at, name]);
      if (left.size < MOST_WARNINGS && isMissed(message, name, chat)) left.add(printable(name));
    }
  }
  if (message.role === "developer" && !chat.developerRole) changes.set([...at, "role"], "system");
  if (message.content === null && !chat.nullContent) changes.set([...at, "content"], "");
  if (!reasoningAlways || message.role !== "assistant" || renamed) return;
  if (typeof valueOf(message, "reasoning_content") !== "string")
    changes.set([...at, "reasoning_content"], "");
}

/** Whether a member that is left out said something that goes up nowhere else. */
function isMissed(message: ChatMessage, name: string, chat: ChatDialect): boolean {
  return !isSilent(valueOf(message, name)) && !isSaidElsewhere(message, name, chat);
}

/** Whether the same reasoning goes up in another member: some clients give it back in all the forms there are. */
function isSaidElsewhere(message: ChatMessage, name: string, chat: ChatDialect): boolean {
  if (!isReasoning(name)) return false;
  return chat.reasoningBack.some(
    (other) => other !== name && keeps(message, other, chat) && !isSilent(valueOf(message, other) ?? null),
  );
}

/** `reasoning` of another vendor is the same text as `reasoning_content`. */
function takesUnderOtherName(message: ChatMessage, chat: ChatDialect): boolean {
  return (
    chat.reasoningBack.includes("reasoning_content") &&
    !chat.reasoningBack.includes("reasoning") &&
    typeof valueOf(message, "reasoning") === "string" &&
    isSilent(valueOf(message, "reasoning_content") ?? null)
  );
}

function changeIds(message: ChatMessage, at: Path, { chat, ids }: MessageRules, changes: Changes): void {
  const answered = ids.get(message.tool_call_id ?? "");
  if (answered !== undefined) changes.set([...at, "tool_call_id"], answered);
  if (!keeps(message, "tool_calls", chat)) return;
  message.tool_calls?.forEach((call, i) => {
    const id = ids.get(call.id ?? "");
    if (id !== undefined) changes.set([...at, "tool_calls", i, "id"], id);
  });
}

/** Writes the headers of data URLs anew without signatures; the images' bytes stay. */
function cutSignatures(message: ChatMessage, at: Path, { chat }: MessageRules, changes: Changes): void {
  const { content, images } = message;
  for (const [name, parts] of [
    ["content", Array.isArray(content) ? content : []],
    ["images", images ?? []],
  ] as const) {
    if (!keeps(message, name, chat)) continue;
    parts.forEach((part, i) => {
      const header = headerOf(part.image_url?.url ?? "");
      const clean = header.replaceAll(SIGNATURE, "");
      if (clean !== header) changes.setStart([...at, name, i, "image_url", "url"], header, clean);
    });
  }
}

const SIGNATURE = /;\s*thought_signature=[^;,]*/gi;

/** The media type of a data URL: what stands before its first comma. */
function headerOf(url: string): string {
  const comma = url.indexOf(",");
  return /^data:/i.test(url.slice(0, 5)) && comma !== -1 ? url.slice(0, comma) : "";
}
