import type { Part, Turn } from "../../../core/chat.ts";
import { filled, type JsonObject } from "../../../core/json/json-value.ts";
import { callInput } from "../../call-input.ts";
import {
  type Beginning,
  createListFacts,
  createMadeOnce,
  isKept,
  keepList,
  type ListFacts,
} from "../../../core/json/kept.ts";
import type { Losses } from "../../losses.ts";
import { type CallIds, openCallIds, type SentIds } from "./call-ids.ts";
import { mediaBlock } from "./encode-media.ts";
import { markedIn } from "./marks.ts";

/** A conversation in the format's words. */
export interface EncodedTurns {
  readonly system: readonly JsonObject[];
  readonly messages: readonly Message[];
  /** The tools that the last answer called run still, and that answer came back without its thinking. */
  readonly hasLostThinking: boolean;
}

/** A message. */
interface Message {
  readonly role: "system" | "user" | "assistant";
  readonly content: readonly JsonObject[];
}

/** One that is being put together. */
interface Draft extends Message {
  readonly content: JsonObject[];
}

/** What the turns are written with. */
interface Writing {
  readonly ids: CallIds;
  /** Images of answers, which the format takes from the user only. */
  readonly moved: JsonObject[];
  readonly losses: Losses;
}

/** Blocks of parts that come again. Those with a mark are not among them: it may have to go. */
const keptBlocks = createMadeOnce<Part, JsonObject>();

const isCall = ({ type }: JsonObject): boolean => type === "tool_use";
const isResult = ({ type }: JsonObject): boolean => type === "tool_result";

/**
 * Writes the turns in their order. System turns at the beginning are the `system` of the request. A later one keeps its
 * place: as a message of its own where the model takes that (`systemTurns`), else as text of the user.
 */
export function encodeTurns(turns: readonly Turn[], systemTurns: boolean, losses: Losses): EncodedTurns {
  const leading = turns.findIndex(({ role }) => role !== "system");
  if (leading === -1) losses.note({ place: "turns", why: "system_alone" });
  // A request needs a message, so the last of nothing but system turns is the user's.
  const asked =
    leading === -1
      ? turns.slice(-1).map(({ parts }): Turn => ({ role: "user", parts }))
      : turns.slice(leading);
  const { messages, begun } =
    goneOn(turns, systemTurns, losses) ?? written(asked, systemTurns, openWriting(turns, losses));
  if (messages.length === 0) throw losses.refusal({ place: "turns", why: "nothing_to_read" });
  if (begun !== undefined) keepMessages(turns, systemTurns, messages, begun);
  const system = turns.slice(0, turns.length - asked.length).flatMap(({ parts }) => parts);
  return {
    system: system.flatMap((part) => textBlock(part, losses)),
    messages,
    hasLostThinking: hasLostThinking(messages),
  };
}

function openWriting(turns: readonly Turn[], losses: Losses, earlier?: SentIds): Writing {
  return { ids: openCallIds(turns, earlier), moved: [], losses };
}

/** Messages, and how a longer conversation goes on behind them; `undefined` where it cannot. */
interface WrittenMessages {
  readonly messages: readonly Message[];
  readonly begun: Begun | undefined;
}

interface Begun {
  readonly ids: SentIds;
  /** The list that the messages begin with. */
  readonly beginning?: Beginning;
}

/** Writes turns that begin with the first of a conversation that is no system turn, or with an answer within it. */
function written(asked: readonly Turn[], systemTurns: boolean, writing: Writing): WrittenMessages {
  const { losses, moved, ids } = writing;
  const drafts = asked.map((turn, i): Draft => {
    if (turn.role === "assistant" && asked[i - 1]?.role !== "assistant") ids.nextTurn();
    return { role: turn.role === "tool" ? "user" : turn.role, content: contentOf(turn, writing) };
  });
  if (moved.length > 0) losses.note({ place: "turns", why: "images_last" });
  const runs = joined(
    drafts.filter(({ content }) => content.length > 0),
    (before, after) => before.role === "system" && after.role === "system",
  );
  const messages = joined(placed(runs, systemTurns, losses), isOneMessage).map(
    ({ role, content }, i, { length }): Message =>
      role === "assistant" && i === length - 1
        ? { role, content: withoutTrail(content) }
        : writeMessage(role, content),
  );
  const sent = ids.sent();
  // What is told is told of each request, and a mark may have to go.
  const isPlain = losses.warnings.size === 0 && markedIn(messages).length === 0;
  return { messages, begun: sent !== undefined && isPlain ? { ids: sent } : undefined };
}

/** The messages of a conversation that comes again, by whether the model takes system turns amid it. */
const keptWritten = { with: createListFacts<Kept>(), without: createListFacts<Kept>() };

interface Kept {
  readonly messages: readonly Message[];
  readonly ids: SentIds;
}

function keepMessages(
  turns: readonly Turn[],
  systemTurns: boolean,
  messages: readonly Message[],
  begun: Begun,
) {
  // An answer that comes last is not written as one that is followed by something.
  if (!isKept(turns) || messages.at(-1)?.role !== "user") return;
  keepList(messages, begun.beginning);
  keptOf(systemTurns).add(turns, turns.length, () => ({ messages, ids: begun.ids }));
}

function keptOf(systemTurns: boolean): ListFacts<Kept> {
  return systemTurns ? keptWritten.with : keptWritten.without;
}

/**
 * The messages of a conversation that begins as an earlier one. The function writes only the turns behind that.
 * `undefined` where they are not written as if they stood alone.
 */
function goneOn(turns: readonly Turn[], systemTurns: boolean, losses: Losses): WrittenMessages | undefined {
  const { count = 0, fact } = keptOf(systemTurns).of(turns) ?? {};
  if (count > 0 && count === turns.length) return fact && { messages: fact.messages, begun: undefined };
  const before = turns[count - 1]?.role;
  const follows = turns[count]?.role === "assistant" && (before === "user" || before === "tool");
  // Another conversation has gone on from there.
  if (fact === undefined || !follows || fact.ids.ids.size !== fact.ids.count) return undefined;
  // What is told of the new turns alone may not hold for all: it is told by who writes all.
  let isTold = false;
  const own: Losses = { ...losses, note: () => void (isTold = true) };
  const { messages, begun } = written(turns.slice(count), systemTurns, openWriting(turns, own, fact.ids));
  if (isTold || begun === undefined || messages[0]?.role !== "assistant") return undefined;
  const beginning = { list: fact.messages, count: fact.messages.length };
  return { messages: [...fact.messages, ...messages], begun: { ...begun, beginning } };
}

/** Messages of one block, by the block. */
const keptMessages = createMadeOnce<JsonObject, Message>();

function writeMessage(role: Draft["role"], content: readonly JsonObject[]): Message {
  const [block, other] = content;
  if (block === undefined || other !== undefined) return { role, content: resultsFirst(content) };
  const known = keptMessages.get(block);
  return known?.role === role ? known : keptMessages.add(block, { role, content });
}

function contentOf({ role, parts }: Turn, writing: Writing): JsonObject[] {
  const { ids, moved, losses } = writing;
  switch (role) {
    case "system":
      return parts.flatMap((part) => textBlock(part, losses));
    case "user":
      return [...moved.splice(0), ...parts.flatMap((part) => inputBlock(part, losses))];
    case "tool":
      return [...moved.splice(0), ...resultBlocks(parts, ids, losses)];
    case "assistant":
      return parts.flatMap((part) => answerBlock(part, writing));
  }
}

/** Results in the order of the calls that they answer. */
function resultBlocks(parts: readonly Part[], ids: CallIds, losses: Losses): JsonObject[] {
  return parts
    .filter((part) => part.type === "tool_result")
    .map((part) => {
      const { id, place } = ids.answered(part.callId);
      const known = keptBlocks.get(part);
      if (known?.tool_use_id === id) return { place, block: known };
      const block: JsonObject = {
        type: "tool_result",
        tool_use_id: id,
        content: filled(part.parts.flatMap((inner) => inputBlock(inner, losses))),
        is_error: part.isError || undefined,
        cache_control: part.cache,
      };
      // Media may be told of.
      const isText = part.cache === undefined && part.parts.every(isPlainText);
      return { place, block: isText ? keptBlocks.add(part, block) : block };
    })
    .sort((a, b) => a.place - b.place)
    .map(({ block }) => block);
}

function isPlainText(part: Part): boolean {
  return part.type === "text" && part.cache === undefined;
}

function textBlock(part: Part, losses: Losses): readonly JsonObject[] {
  if (part.type !== "text") throw losses.refusal({ place: "turns", why: "text_only" });
  const { type, text, cache } = part;
  if (text === "") return [];
  const known = keptBlocks.get(part);
  if (known !== undefined) return [known];
  const block = { type, text, cache_control: cache };
  return [cache === undefined ? keptBlocks.add(part, block) : block];
}

function inputBlock(part: Part, losses: Losses): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return textBlock(part, losses);
    case "image":
    case "document":
      return [mediaBlock(part, losses)];
    case "audio":
      throw losses.refusal({ place: "turns", at: part.at, why: "no_audio_in" });
    case "video":
      throw losses.refusal({ place: "turns", at: part.at, why: "no_video_in" });
    default:
      throw losses.refusal({ place: "turns", why: "misplaced", type: part.type });
  }
}

function answerBlock(part: Part, { ids, moved, losses }: Writing): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : textBlock(part, losses);
    case "thinking":
    case "redacted_thinking":
      return thinkingBlock(part, losses);
    case "tool_call": {
      const id = ids.call(part.id);
      const known = keptBlocks.get(part);
      if (known?.id === id) return [known];
      const block = { type: "tool_use", id, name: part.name, input: callInput(part, losses) };
      return [keptBlocks.add(part, block)];
    }
    case "image":
    case "document":
      moved.push(mediaBlock(part, losses));
      return [];
    default:
      return inputBlock(part, losses);
  }
}

/** What another family of models has signed its own alone can read; the provider would refuse the request. */
function thinkingBlock(
  part: Extract<Part, { readonly type: "thinking" | "redacted_thinking" }>,
  losses: Losses,
): readonly JsonObject[] {
  const { type, issuer = "anthropic" } = part;
  if (type === "thinking" && (part.signature ?? "") === "") {
    losses.note({ place: "thinkingParts", why: "unsigned_thinking" });
    return [];
  }
  if (issuer !== "anthropic") {
    losses.note({ place: "thinkingParts", why: "signed_by_others" });
    return [];
  }
  return type === "thinking"
    ? [{ type, thinking: part.text, signature: part.signature }]
    : [{ type, data: part.data }];
}

/** System messages stand after the user and before an answer, or last; any other is the user's, in its place. */
function placed(drafts: readonly Draft[], systemTurns: boolean, losses: Losses): readonly Draft[] {
  return drafts.map((draft, i) => {
    if (draft.role !== "system") return draft;
    const next = drafts[i + 1];
    const fits = drafts[i - 1]?.role === "user" && (next === undefined || next.role === "assistant");
    if (systemTurns && fits) return draft;
    losses.note({ place: "turns", why: "system_amid" });
    return { ...draft, role: "user" };
  });
}

/** Drafts with neighbours made one where they belong together: the first of them takes in the others. */
function joined(
  drafts: readonly Draft[],
  belong: (before: Draft, after: Draft) => boolean,
): readonly Draft[] {
  const messages: Draft[] = [];
  for (const draft of drafts) {
    const before = messages.at(-1);
    if (before === undefined || !belong(before, draft)) messages.push(draft);
    else for (const block of draft.content) before.content.push(block);
  }
  return messages;
}

/** Calls that were sent in turns of their own are one answer, and their results one message with what the user says beside them. */
function isOneMessage(before: Draft, after: Draft): boolean {
  if (before.role !== after.role) return false;
  if (before.role === "assistant") return before.content.some(isCall);
  return before.content.some(isResult) || after.content.some(isResult);
}

function resultsFirst(content: readonly JsonObject[]): readonly JsonObject[] {
  return content.toSorted((a, b) => Number(isResult(b)) - Number(isResult(a)));
}

/** The provider refuses an unfinished answer of ours that ends in white space. */
function withoutTrail(content: readonly JsonObject[]): readonly JsonObject[] {
  const last = content.at(-1);
  if (last?.type !== "text" || typeof last.text !== "string") return content;
  return [...content.slice(0, -1), { ...last, text: last.text.trimEnd() }];
}

/**
 * Whether the answer whose tools are being run began without thinking. Later rounds of one run need none of their own; it
 * is the user's own words that end a run, and no system message.
 * Source: the provider's refusal, "Expected `thinking` or `redacted_thinking`, but found `tool_use`".
 */
function hasLostThinking(messages: readonly Message[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  if (messages[last]?.content.some(isCall) !== true) return false;
  const asked = messages
    .slice(0, last)
    .findLastIndex(({ role, content }) => role === "user" && !content.every(isResult));
  const answer = messages.slice(asked + 1).find(({ role }) => role === "assistant");
  const [first] = answer?.content ?? [];
  return first?.type !== "thinking" && first?.type !== "redacted_thinking";
}
