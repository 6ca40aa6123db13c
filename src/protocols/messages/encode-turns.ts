import type { CacheMark, Part, ToolResultPart, Turn } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { callInput } from "../call-input.ts";
import type { Losses } from "../losses.ts";
import { type CallIds, openCallIds } from "./call-ids.ts";
import { cacheControl, documentBlock, imageBlock } from "./encode-media.ts";

/** A conversation in the format's words. */
export interface EncodedTurns {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
  /** The tools that the last answer called run still, and that answer came back without its thinking. */
  readonly hasLostThinking: boolean;
}

/** A message that is being put together. Results stand before all else. */
interface Draft {
  readonly role: "system" | "user" | "assistant";
  readonly results: JsonObject[];
  readonly blocks: JsonObject[];
  hasCalls: boolean;
}

/** What the turns are written with. */
interface Writing {
  readonly ids: CallIds;
  /** Images of answers, which the format takes from the user only. */
  readonly moved: JsonObject[];
  readonly losses: Losses;
}

const THINKING: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking"]);

/**
 * Writes the turns in their order. System turns at the beginning are the `system` of the request; a later one keeps its
 * place, as a message of its own where the model takes that (`systemTurns`), else as text of the user.
 */
export function encodeTurns(turns: readonly Turn[], systemTurns: boolean, losses: Losses): EncodedTurns {
  const leading = turns.findIndex(({ role }) => role !== "system");
  if (leading === -1) losses.note({ place: "turns", why: "system_alone" });
  // A request needs a message, so the last of nothing but system turns is the user's.
  const begin = leading === -1 ? Math.max(0, turns.length - 1) : leading;
  const writing: Writing = { ids: openCallIds(turns), moved: [], losses };
  const drafts = turns
    .slice(begin)
    .map((turn, i, sent) => {
      if (turn.role === "assistant" && sent[i - 1]?.role !== "assistant") writing.ids.nextTurn();
      return draftOf(leading === -1 ? { ...turn, role: "user" } : turn, writing);
    })
    .filter(({ results, blocks }) => results.length + blocks.length > 0);
  if (writing.moved.length > 0) losses.note({ place: "turns", why: "images_last" });
  const messages = joined(placed(joined(drafts, isSystemRun), systemTurns, losses), isOneMessage);
  if (messages.length === 0) throw losses.refusal({ place: "turns", why: "nothing_to_read" });
  return {
    system: turns.slice(0, begin).flatMap(({ parts }) => parts.flatMap((part) => textBlock(part, losses))),
    messages: messages.map((draft, i) => ({
      role: draft.role,
      content: i === messages.length - 1 ? withoutTrail(draft) : [...draft.results, ...draft.blocks],
    })),
    hasLostThinking: hasLostThinking(messages),
  };
}

function draftOf({ role, parts }: Turn, writing: Writing): Draft {
  const { ids, moved, losses } = writing;
  switch (role) {
    case "system":
      return draft(
        role,
        parts.flatMap((part) => textBlock(part, losses)),
      );
    case "user":
      return draft(role, [...moved.splice(0), ...parts.flatMap((part) => inputBlock(part, losses))]);
    case "tool":
      return draft("user", moved.splice(0), resultBlocks(parts, ids, losses));
    case "assistant":
      return {
        ...draft(
          role,
          parts.flatMap((part) => answerBlock(part, writing)),
        ),
        hasCalls: parts.some(({ type }) => type === "tool_call"),
      };
  }
}

function draft(role: Draft["role"], blocks: JsonObject[], results: JsonObject[] = []): Draft {
  return { role, results, blocks, hasCalls: false };
}

/** Results in the order of the calls that they answer. */
function resultBlocks(parts: readonly Part[], ids: CallIds, losses: Losses): JsonObject[] {
  return parts
    .filter((part) => part.type === "tool_result")
    .map((part) => {
      const { id, place } = ids.answered(part.callId);
      return { place, block: resultBlock(part, id, losses) };
    })
    .sort((a, b) => a.place - b.place)
    .map(({ block }) => block);
}

function resultBlock({ parts, isError, cache }: ToolResultPart, id: string, losses: Losses): JsonObject {
  const content = parts.flatMap((part) => inputBlock(part, losses));
  return {
    type: "tool_result",
    tool_use_id: id,
    ...(content.length === 0 ? {} : { content }),
    ...(isError ? { is_error: true } : {}),
    ...cacheControl(cache),
  };
}

function textBlock(part: Part, losses: Losses): readonly JsonObject[] {
  if (part.type !== "text") throw losses.refusal({ place: "turns", why: "text_only" });
  return part.text === "" ? [] : [text(part.text, part.cache)];
}

function text(value: string, cache: CacheMark | undefined): JsonObject {
  return { type: "text", text: value, ...cacheControl(cache) };
}

function inputBlock(part: Part, losses: Losses): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return textBlock(part, losses);
    case "image":
      return [imageBlock(part, losses)];
    case "document":
      return [documentBlock(part, losses)];
    case "audio":
      throw losses.refusal({ place: "turns", at: part.at, why: "no_audio_in" });
    case "video":
      throw losses.refusal({ place: "turns", at: part.at, why: "no_video_in" });
    case "thinking":
    case "redacted_thinking":
    case "tool_call":
    case "tool_result":
      throw losses.refusal({ place: "turns", why: "misplaced", type: part.type });
  }
}

function answerBlock(part: Part, { ids, moved, losses }: Writing): readonly JsonObject[] {
  switch (part.type) {
    case "text":
      return part.text.trim() === "" ? [] : textBlock(part, losses);
    case "thinking": {
      const { signature = "" } = part;
      if (signature === "") {
        losses.note({ place: "thinkingParts", why: "unsigned_thinking" });
        return [];
      }
      if (isForeign(part.issuer, losses)) return [];
      return [{ type: "thinking", thinking: part.text, signature }];
    }
    case "redacted_thinking":
      return isForeign(part.issuer, losses) ? [] : [{ type: "redacted_thinking", data: part.data }];
    case "tool_call":
      return [{ type: "tool_use", id: ids.call(part.id), name: part.name, input: callInput(part, losses) }];
    case "image":
    case "document":
      moved.push(...inputBlock(part, losses));
      return [];
    case "audio":
    case "video":
    case "tool_result":
      return inputBlock(part, losses);
  }
}

/** What another family of models has signed its own alone can read; the provider would refuse the request. */
function isForeign(issuer: string | undefined, losses: Losses): boolean {
  if (issuer === undefined || issuer === "anthropic") return false;
  losses.note({ place: "thinkingParts", why: "signed_by_others" });
  return true;
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
    else {
      for (const result of draft.results) before.results.push(result);
      for (const block of draft.blocks) before.blocks.push(block);
      before.hasCalls ||= draft.hasCalls;
    }
  }
  return messages;
}

const isSystemRun = (before: Draft, after: Draft): boolean =>
  before.role === "system" && after.role === "system";

/** Calls that were sent in turns of their own are one answer, and their results one message with what the user says beside them. */
const isOneMessage = (before: Draft, after: Draft): boolean => {
  if (before.role !== after.role) return false;
  if (before.role === "assistant") return before.hasCalls;
  return before.results.length + after.results.length > 0;
};

/** The provider refuses an unfinished answer of ours that ends in white space. */
function withoutTrail({ role, results, blocks }: Draft): readonly JsonObject[] {
  const last = blocks.at(-1);
  if (role !== "assistant" || last?.type !== "text" || typeof last.text !== "string")
    return [...results, ...blocks];
  return [...blocks.slice(0, -1), { ...last, text: last.text.trimEnd() }];
}

/**
 * Whether the answer whose tools are being run began without thinking. Later rounds of one run need none of their own; it
 * is the user's own words that end a run, and no system message.
 * Source: the provider's refusal, "Expected `thinking` or `redacted_thinking`, but found `tool_use`".
 */
function hasLostThinking(messages: readonly Draft[]): boolean {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const answer = messages[last];
  if (answer?.hasCalls !== true) return false;
  const isInRun = ({ role, results, blocks }: Draft): boolean =>
    role !== "user" || (results.length > 0 && blocks.length === 0);
  const before = messages.slice(0, last).findLastIndex((draft) => !isInRun(draft));
  const first = messages.slice(before + 1, last + 1).find(({ role }) => role === "assistant");
  return first !== undefined && !THINKING.has(first.blocks[0]?.type);
}
