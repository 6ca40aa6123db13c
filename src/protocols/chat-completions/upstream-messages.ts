import { eachItem, eachMember, type Member, memberName, openScan } from "../../core/json-scan.ts";
import { type Edit, objectEdits } from "../../core/json-splice.ts";
import { isJsonObject } from "../../core/json-value.ts";
import { type ChatDialect, REASONING_FIELDS, type ReasoningField } from "../chat-dialect.ts";
import type { RelayTarget } from "../protocol.ts";
import { addWithin, type Rewrite } from "../rewrite.ts";
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

/** An object of the request with all its members, at offsets of the whole body. */
interface Place {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly members: readonly Member[];
  readonly byName: ReadonlyMap<string, Member>;
}

/**
 * Rewrites messages as the target takes them: reasoning and images of earlier answers, members that it does not know,
 * roles, null content, ids of tool calls, signatures in data URLs. Spans that need nothing keep their bytes.
 */
export function rewriteMessages(
  request: ChatRequest,
  target: RelayTarget,
  chat: ChatDialect,
  thinks: boolean,
  rewrite: Rewrite,
): void {
  const rules: MessageRules = {
    chat: ofPainter(chat, target),
    ids: mapToolIds(request.body, chat.toolIds),
    reasoningAlways: thinks && wantsReasoningAlways(target, chat) && usesTools(request),
  };
  const { messages } = request.body;
  if (!messages.some((message) => needsChange(message, rules))) return;
  const left = new Set<string>();
  const list = request.json.byName.get("messages");
  if (list === undefined) return;
  const { bytes } = request.json;
  let nth = 0;
  eachItem(openScan(bytes, list.valueEnd), list.valueStart, (start, end) => {
    const message = messages[nth] as ChatMessage;
    nth += 1;
    if (!needsChange(message, rules)) return;
    const place = readPlace(bytes, start, end);
    addWithin(rewrite, messageEdits(place, message, rules, left));
    addWithin(rewrite, nestedEdits(place, message, rules));
  });
  for (const name of left)
    rewrite.warnings.push(`${name} of earlier messages was left out: this model's provider does not take it`);
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

function readPlace(bytes: Uint8Array, start: number, end: number): Place {
  const members: Member[] = [];
  eachMember(openScan(bytes, end), start, (keyStart, keyEnd, valueStart, valueEnd) => {
    members.push({ keyStart, keyEnd, valueStart, valueEnd });
  });
  const byName = new Map(
    members.map((member) => [memberName(bytes, member.keyStart, member.keyEnd), member]),
  );
  return { bytes, start, members, byName };
}

function needsChange(message: ChatMessage, rules: MessageRules): boolean {
  const { chat } = rules;
  return (
    Object.keys(message).some((name) => !keeps(message, name, chat)) ||
    (rules.reasoningAlways && message.role === "assistant") ||
    (message.role === "developer" && !chat.developerRole) ||
    (message.content === null && !chat.nullContent) ||
    (rules.ids.size > 0 && idsOf(message).some((id) => rules.ids.has(id))) ||
    (!chat.imageSignatures && linksOf(message).some(isSigned))
  );
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

function messageEdits(place: Place, message: ChatMessage, rules: MessageRules, left: Set<string>): Edit[] {
  const { chat } = rules;
  const remove = new Set<Member>();
  const replace = new Map<Member, string>();
  const rename = new Map<Member, string>();
  const append: string[] = [];
  const renamed = takesUnderOtherName(message, chat);
  for (const [name, at] of place.byName) {
    if (renamed && name === "reasoning") rename.set(at, '"reasoning_content"');
    else if (!keeps(message, name, chat) || (renamed && name === "reasoning_content")) {
      remove.add(at);
      if (!isSilent(valueOf(message, name)) && !isSaidElsewhere(message, name, chat))
        if (left.size < MOST_WARNINGS) left.add(name.slice(0, 64).replace(/[^\w.-]/g, "?"));
    }
  }
  const role = place.byName.get("role");
  if (role !== undefined && message.role === "developer" && !chat.developerRole)
    replace.set(role, '"system"');
  const content = place.byName.get("content");
  if (content !== undefined && message.content === null && !chat.nullContent) replace.set(content, '""');
  if (rules.reasoningAlways && message.role === "assistant" && !renamed) {
    const at = place.byName.get("reasoning_content");
    if (at === undefined) append.push('"reasoning_content":""');
    else if (typeof valueOf(message, "reasoning_content") !== "string") replace.set(at, '""');
  }
  const answered = place.byName.get("tool_call_id");
  const id = rules.ids.get(message.tool_call_id ?? "");
  if (answered !== undefined && id !== undefined && !remove.has(answered))
    replace.set(answered, JSON.stringify(id));
  return objectEdits(place.bytes, place.members, { remove, replace, rename, append }, place.start);
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

/** Changes inside members that stay: ids of calls, and signatures in data URLs. */
function nestedEdits(place: Place, message: ChatMessage, { chat, ids }: MessageRules): Edit[] {
  const edits: Edit[] = [];
  const items = (name: string, visit: (item: Place, nth: number) => void): void => {
    const at = place.byName.get(name);
    if (at === undefined || place.bytes[at.valueStart] !== 0x5b || !keeps(message, name, chat)) return;
    let nth = 0;
    eachItem(openScan(place.bytes, at.valueEnd), at.valueStart, (start, end) => {
      if (place.bytes[start] === 0x7b) visit(readPlace(place.bytes, start, end), nth);
      nth += 1;
    });
  };
  if (ids.size > 0) {
    items("tool_calls", ({ byName }, nth) => {
      const at = byName.get("id");
      const id = ids.get(message.tool_calls?.[nth]?.id ?? "");
      if (at !== undefined && id !== undefined)
        edits.push({ start: at.valueStart, end: at.valueEnd, text: JSON.stringify(id) });
    });
  }
  if (chat.imageSignatures || !linksOf(message).some(isSigned)) return edits;
  const { content, images } = message;
  for (const [name, parts] of [
    ["content", Array.isArray(content) ? content : []],
    ["images", images ?? []],
  ] as const) {
    items(name, ({ bytes, byName }, nth) => {
      const link = byName.get("image_url");
      const url = parts[nth]?.image_url?.url;
      if (link === undefined || url === undefined || !isSigned(url)) return;
      const at = readPlace(bytes, link.valueStart, link.valueEnd).byName.get("url");
      if (at !== undefined) edits.push(unsigned(bytes, at, url));
    });
  }
  return edits;
}

function idsOf(message: ChatMessage): string[] {
  const calls = (message.tool_calls ?? []).map((call) => call.id);
  return [...calls, message.tool_call_id].filter((id) => typeof id === "string");
}

function linksOf(message: ChatMessage): string[] {
  const parts = Array.isArray(message.content) ? message.content : [];
  return [...parts, ...(message.images ?? [])].flatMap((part) =>
    part.image_url === undefined || part.image_url === null ? [] : [part.image_url.url],
  );
}

const SIGNATURE = /;\s*thought_signature=[^;,]*/gi;

/** The media type of a data URL: what stands before its first comma. */
function headerOf(url: string): string {
  const comma = url.indexOf(",");
  return /^data:/i.test(url.slice(0, 5)) && comma !== -1 ? url.slice(0, comma) : "";
}

function isSigned(url: string): boolean {
  return headerOf(url).search(SIGNATURE) !== -1;
}

/** Writes the header of a data URL anew without signatures; the image's bytes stay. */
function unsigned(bytes: Uint8Array, { valueStart, valueEnd }: Member, url: string): Edit {
  const header = headerOf(url);
  const clean = header.replaceAll(SIGNATURE, "");
  // Where the header is written without escapes, as always but in tests of it, only that much is replaced.
  const plain = url.slice(0, header.length + 1);
  const end = valueStart + 1 + header.length;
  if (new TextDecoder().decode(bytes.subarray(valueStart + 1, end + 1)) === plain)
    return { start: valueStart, end, text: JSON.stringify(clean).slice(0, -1) };
  return { start: valueStart, end: valueEnd, text: JSON.stringify(clean + url.slice(header.length)) };
}
