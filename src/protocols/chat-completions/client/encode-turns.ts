import type { Part, ToolCallPart, ToolResultPart, Turn } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import {
  createListFacts,
  createMadeOnce,
  isKept,
  keepList,
  type ListFacts,
} from "../../../core/json/kept.ts";
import type { Model } from "../../../core/model.ts";
import { answeredCalls, NO_RESULT, resultsAfter, withOwnIds } from "../../call-results.ts";
import { type ChatDialect, OPEN_CHAT } from "../../chat-dialect.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { isMedia, type MediaPart } from "../../told-media.ts";
import { encodeMedia } from "./encode-media.ts";
import { encodeReasoning } from "./encode-reasoning.ts";

/** What the turns are written with. */
interface Writing {
  readonly target: RelayTarget;
  readonly losses: Losses;
  readonly messages: JsonObject[];
  /** Media of answers and of results, which the format takes from the user only: parts of the user's next message. */
  readonly moved: JsonObject[];
}

/**
 * The turns in their order, each a message. A turn with results becomes one message for each result, behind the answer
 * that called, in the order of its calls. Throws a 400 for a result without a call.
 */
export function encodeTurns(
  turns: readonly Turn[],
  target: RelayTarget,
  losses: Losses,
): readonly JsonObject[] {
  const kept = keptMessages(target);
  const { begun, messages } = begunMessages(turns, kept);
  let { hasAnswered = false, isMarked = false } = begun?.fact ?? {};
  let isTold = false;
  const note: Losses["note"] = (loss) => {
    isTold = true;
    losses.note(loss);
  };
  const writing: Writing = { target, losses: { ...losses, note }, messages, moved: [] };
  /** Keeps the messages of the turns before a place, behind which new ones are written as if they stood alone. */
  const keepUpTo = (place: number): void => {
    // What is told is told of each request.
    if (isTold || writing.moved.length > 0) return;
    const count = messages.length;
    const [answered, marked] = [hasAnswered, isMarked];
    kept.add(turns, place, () => ({ messages, count, hasAnswered: answered, isMarked: marked }));
  };
  for (let i = begun?.count ?? 0; i < turns.length; i += 1) {
    const { role, parts } = turns[i] as Turn;
    if (role !== "tool") keepUpTo(i);
    isMarked ||= parts.some(hasMark);
    hasAnswered ||= role === "assistant";
    if (role === "assistant") addAnswer(parts, resultsAfter(turns, i), writing);
    else if (role !== "tool") (role === "system" ? addSystem : addUser)(parts, writing);
    else if (!hasAnswered) throw losses.refusal({ place: "callId", why: "no_call", id: firstResult(parts) });
  }
  keepUpTo(turns.length);
  if (writing.moved.length > 0) addUser([], writing);
  if (isMarked && target.chat?.cacheMarks !== true) losses.note({ place: "cache", why: "caches_itself" });
  if (isKept(turns)) keepList(messages, begun && { list: begun.fact.messages, count: begun.fact.count });
  return messages;
}

/** The messages that a conversation began with. */
interface Begun {
  /** With those that followed them then. */
  readonly messages: readonly JsonObject[];
  readonly count: number;
  readonly hasAnswered: boolean;
  readonly isMarked: boolean;
}

const keptByModel = new WeakMap<Model, Map<ChatDialect, ListFacts<Begun>>>();

/** Messages are those of one model at servers of one dialect. */
function keptMessages({ model, chat = OPEN_CHAT }: RelayTarget): ListFacts<Begun> {
  const byDialect = keptByModel.getOrInsertComputed(model, () => new Map<ChatDialect, ListFacts<Begun>>());
  return byDialect.getOrInsertComputed(chat, createListFacts<Begun>);
}

/** The messages of turns that an earlier conversation began with; a copy of them, to go on with. */
function begunMessages(turns: readonly Turn[], kept: ListFacts<Begun>) {
  const begun = kept.of(turns);
  const rest = begun === undefined ? [] : turns.slice(begun.count);
  const answer = rest.findIndex(({ role }) => role === "assistant");
  // One more result belongs behind the last of those answers.
  const goesOn = !rest.slice(0, answer === -1 ? rest.length : answer).some(({ role }) => role === "tool");
  if (begun === undefined || !goesOn) return { messages: [] as JsonObject[] };
  return { begun, messages: begun.fact.messages.slice(0, begun.fact.count) };
}

function hasMark(part: Part): boolean {
  return "cache" in part && part.cache !== undefined;
}

function firstResult(parts: readonly Part[]): string {
  return parts.find((part) => part.type === "tool_result")?.callId ?? "";
}

/** The breakpoint that goes up with a part. Only one of five minutes has a price in this format. */
function markOf(part: Part, { chat }: RelayTarget): JsonObject | undefined {
  return chat?.cacheMarks === true && "cache" in part && part.cache ? { type: part.cache.type } : undefined;
}

/** Texts one by one, where one of them has a mark. */
function markedContent(parts: readonly Part[], target: RelayTarget): readonly JsonObject[] | undefined {
  if (!parts.some((part) => markOf(part, target) !== undefined)) return undefined;
  return parts.flatMap((part) =>
    part.type !== "text" || part.text === ""
      ? []
      : [present({ type: "text", text: part.text, cache_control: markOf(part, target) })],
  );
}

/** Messages of one text, by the part that it is, apart by the role of who says it. */
const keptTexts = {
  system: createMadeOnce<Part, JsonObject>(),
  user: createMadeOnce<Part, JsonObject>(),
  assistant: createMadeOnce<Part, JsonObject>(),
};

function textMessage(role: keyof typeof keptTexts, part: Part, content: string): JsonObject {
  return keptTexts[role].get(part) ?? keptTexts[role].add(part, { role, content });
}

function addSystem(parts: readonly Part[], { target, messages, losses }: Writing): void {
  const texts = parts.map((part) => {
    if (part.type === "text") return part.text;
    throw losses.refusal({ place: "turns", why: "text_only" });
  });
  const said = texts.filter((text) => text !== "");
  const [only] = parts;
  if (said.length === 0) return;
  const marked = markedContent(parts, target);
  if (marked !== undefined) messages.push({ role: "system", content: marked });
  else if (parts.length === 1 && only !== undefined)
    messages.push(textMessage("system", only, said.join("")));
  else messages.push({ role: "system", content: said.join("\n\n") });
}

function addUser(parts: readonly Part[], { target, losses, messages, moved }: Writing): void {
  const [only, ...others] = parts;
  const isText = only?.type === "text" && others.length === 0 && moved.length === 0;
  if (isText && markOf(only, target) === undefined) {
    if (only.text !== "") messages.push(textMessage("user", only, only.text));
    return;
  }
  const content = [...moved.splice(0), ...parts.flatMap((part) => userPart(part, target, losses))];
  const [first, ...more] = content;
  if (first === undefined) return;
  const isPlain = more.length === 0 && first.type === "text" && first.cache_control === undefined;
  messages.push({ role: "user", content: isPlain ? first.text : content });
}

const keptParts = createMadeOnce<Part, JsonObject>();

function userPart(part: Part, target: RelayTarget, losses: Losses): readonly JsonObject[] {
  const mark = markOf(part, target);
  if (isMedia(part)) return [present({ ...encodeMedia(part, target, losses), cache_control: mark })];
  if (part.type !== "text") throw losses.refusal({ place: "turns", why: "misplaced", type: part.type });
  if (part.text === "") return [];
  if (mark !== undefined) return [{ type: "text", text: part.text, cache_control: mark }];
  return [keptParts.get(part) ?? keptParts.add(part, { type: "text", text: part.text })];
}

/** An earlier answer and the results of its calls. */
function addAnswer(parts: readonly Part[], results: readonly ToolResultPart[], writing: Writing): void {
  if (writing.moved.length > 0) addUser([], writing);
  // Vendors refuse two calls of one id in an answer.
  const [said, given] = withOwnIds(parts, results);
  addSaid(said, writing);
  addResults(said, given, writing);
}

/** What an earlier answer said. One of which nothing can be sent is left out. */
function addSaid(parts: readonly Part[], { target, losses, messages, moved }: Writing): void {
  const { chat = OPEN_CHAT } = target;
  const [only, ...others] = parts;
  if (only?.type === "text" && others.length === 0) {
    if (only.text !== "") messages.push(textMessage("assistant", only, only.text));
    return;
  }
  // An answer of this format has one text.
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const calls = parts.filter((part) => part.type === "tool_call").map((call) => encodeCall(call, target));
  const media = parts.filter(isMedia).map((part) => encodeMedia(part, target, losses));
  const isOwn = (part: JsonObject): boolean => chat.messageImages && part.type === "image_url";
  const images = media.filter(isOwn);
  for (const part of media) if (!isOwn(part)) moved.push(part);
  const reasoning = encodeReasoning(parts, target, losses);
  if (text === "" && calls.length + images.length === 0 && Object.keys(reasoning).length === 0) return;
  messages.push(
    present({
      role: "assistant",
      content: text === "" && calls.length > 0 ? null : text,
      ...reasoning,
      images: images.length === 0 ? undefined : images,
      tool_calls: calls.length === 0 ? undefined : calls,
    }),
  );
}

const keptCalls = createMadeOnce<Part, JsonObject>();

function encodeCall(part: ToolCallPart, { model }: RelayTarget): JsonObject {
  const { signature } = part;
  const call = keptCalls.get(part) ?? keptCalls.add(part, writeCall(part));
  // Google's alone sign calls, and look for it here.
  if (signature === undefined || !model.id.startsWith("google/")) return call;
  return { ...call, extra_content: { google: { thought_signature: signature } } };
}

function writeCall({ id, name, input, custom }: ToolCallPart): JsonObject {
  if (custom === true) return { id, type: "custom", custom: { name, input } };
  return { id, type: "function", function: { name, arguments: input.trim() === "" ? "{}" : input } };
}

/** The results of an answer's calls, in the order of these. */
function addResults(answer: readonly Part[], given: readonly ToolResultPart[], writing: Writing): void {
  for (const { call, result } of answeredCalls(answer, given, writing.losses))
    writing.messages.push(
      result === undefined
        ? { role: "tool", tool_call_id: call.id, content: NO_RESULT }
        : encodeResult(result, writing),
    );
}

const keptResults = createMadeOnce<Part, JsonObject>();

/** A result as text; its media go to the user's next message, as few servers take any here. */
function encodeResult(result: ToolResultPart, { target, losses, moved }: Writing): JsonObject {
  const mark = markOf(result, target);
  const known = mark === undefined ? keptResults.get(result) : undefined;
  if (known !== undefined) return known;
  const { callId, parts, isError } = result;
  const media = parts.filter(isMedia);
  const texts = parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []));
  if (media.length > 0) {
    moved.push({ type: "text", text: `From the result of the call ${callId}:` });
    for (const part of media) moved.push(encodeMedia(part, target, losses));
    texts.push(`(${countOf(media)} in the user's next message)`);
  }
  const content = `${isError ? "Error: " : ""}${texts.join("\n\n")}`;
  const message = { role: "tool", tool_call_id: callId, content };
  if (mark !== undefined)
    return { ...message, content: [{ type: "text", text: content, cache_control: mark }] };
  return media.length > 0 ? message : keptResults.add(result, message);
}

function countOf(media: readonly MediaPart[]): string {
  const kinds = new Set(media.map(({ type }) => type));
  const [kind] = kinds.size === 1 ? kinds : ["file"];
  return `${media.length} ${kind}${media.length === 1 ? "" : "s"}`;
}
