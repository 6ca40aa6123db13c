import type { Part, ToolCallPart, ToolResultPart, Turn } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { createMadeOnce } from "../../../core/json/kept.ts";
import { contentHash } from "../../../runtime/hash.ts";
import { answeredCalls, NO_RESULT, resultsAfter } from "../../call-results.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { isMedia } from "../../told-media.ts";
import { encodeMedia } from "./encode-media.ts";
import { encodeReasoning } from "./encode-reasoning.ts";

/** A conversation in the format: one system message that leads stands apart from what follows. */
export interface EncodedTurns {
  readonly instructions?: string;
  readonly input: readonly JsonObject[];
}

/** What the turns are written with. */
interface Writing {
  readonly target: RelayTarget;
  readonly losses: Losses;
  readonly items: JsonObject[];
  /** Media of answers, which the format takes from the user only: parts of the user's next message. */
  readonly moved: JsonObject[];
  /** Ids of calls that were written: outputs are found by them. */
  readonly ids: Set<string>;
}

/**
 * The turns as items in their order, the outputs of calls behind the answer that called, in the order of its calls.
 * Throws a 400 for a result without a call.
 */
export function encodeTurns(turns: readonly Turn[], target: RelayTarget, losses: Losses): EncodedTurns {
  const writing: Writing = { target, losses, items: [], moved: [], ids: new Set() };
  const instructions = leadingText(turns, losses);
  let hasAnswered = false;
  for (let i = instructions === undefined ? 0 : 1; i < turns.length; i += 1) {
    const { role, parts } = turns[i] as Turn;
    if (role === "assistant") {
      hasAnswered = true;
      addAnswer(parts, resultsAfter(turns, i), writing);
    } else if (role === "system") addSystem(parts, writing);
    else if (role === "user") addUser(parts, writing);
    else if (!hasAnswered) throw losses.refusal({ place: "callId", why: "no_call", id: firstResult(parts) });
  }
  if (writing.moved.length > 0) addUser([], writing);
  if (turns.some(({ parts }) => parts.some(hasMark))) losses.note({ place: "cache", why: "caches_itself" });
  return { input: writing.items, ...present({ instructions }) };
}

/** The one system message before all others; several keep their order as messages. */
function leadingText(turns: readonly Turn[], losses: Losses): string | undefined {
  const [first, second] = turns;
  if (first?.role !== "system" || second === undefined || second.role === "system") return undefined;
  const text = systemTexts(first.parts, losses).join("\n\n");
  return text === "" ? undefined : text;
}

function systemTexts(parts: readonly Part[], losses: Losses): readonly string[] {
  const texts = parts.map((part) => {
    if (part.type === "text") return part.text;
    throw losses.refusal({ place: "turns", why: "text_only" });
  });
  return texts.filter((text) => text !== "");
}

function hasMark(part: Part): boolean {
  return "cache" in part && part.cache !== undefined;
}

function firstResult(parts: readonly Part[]): string {
  return parts.find((part) => part.type === "tool_result")?.callId ?? "";
}

function addSystem(parts: readonly Part[], { losses, items }: Writing): void {
  const said = systemTexts(parts, losses);
  if (said.length === 0) return;
  items.push({ type: "message", role: "developer", content: said.map(inputText) });
}

function addUser(parts: readonly Part[], { target, losses, items, moved }: Writing): void {
  const content = [...moved.splice(0), ...parts.flatMap((part) => userPart(part, target, losses))];
  if (content.length > 0) items.push({ type: "message", role: "user", content });
}

function inputText(text: string): JsonObject {
  return { type: "input_text", text };
}

const keptParts = createMadeOnce<Part, JsonObject>();

function userPart(part: Part, target: RelayTarget, losses: Losses): readonly JsonObject[] {
  if (isMedia(part)) return [encodeMedia(part, target, losses)];
  if (part.type !== "text") throw losses.refusal({ place: "turns", why: "misplaced", type: part.type });
  return part.text === "" ? [] : [keptParts.get(part) ?? keptParts.add(part, inputText(part.text))];
}

/** An earlier answer and the results of its calls. */
function addAnswer(parts: readonly Part[], results: readonly ToolResultPart[], writing: Writing): void {
  const { target, losses, items, moved } = writing;
  if (moved.length > 0) addUser([], writing);
  const begin = items.length;
  const calls = answeredCalls(parts, results, losses);
  const ids = calls.map(({ call }) => takeId(call.id, writing.ids));
  let called = 0;
  for (const part of parts) {
    if (part.type === "tool_call") items.push(encodeCall(part, ids[called++] ?? part.id));
    else if (part.type === "text") addText(part, items);
    else if (isMedia(part)) moved.push(encodeMedia(part, target, losses));
    else if (part.type === "thinking" || part.type === "redacted_thinking") {
      const item = encodeReasoning(part, target, losses);
      if (item !== undefined) items.push(item);
    }
  }
  // A model that was cut off while it thought: what it thought led to nothing, and the provider refuses that.
  while (items.length > begin && items.at(-1)?.["type"] === "reasoning") {
    items.pop();
    losses.note({ place: "thinkingParts", why: "led_nowhere" });
  }
  for (const [i, { call, result }] of calls.entries())
    items.push({
      type: call.custom === true ? "custom_tool_call_output" : "function_call_output",
      call_id: ids[i],
      output: result === undefined ? NO_RESULT : encodeOutput(result, target, losses),
    });
}

const keptTexts = createMadeOnce<Part, JsonObject>();

function addText(part: Extract<Part, { readonly type: "text" }>, items: JsonObject[]): void {
  if (part.text === "") return;
  const known = keptTexts.get(part);
  const content = [{ type: "output_text", text: part.text }];
  items.push(known ?? keptTexts.add(part, { type: "message", role: "assistant", content }));
}

const keptCalls = createMadeOnce<Part, JsonObject>();

function encodeCall(part: ToolCallPart, id: string): JsonObject {
  if (id !== part.id) return writeCall(part, id);
  return keptCalls.get(part) ?? keptCalls.add(part, writeCall(part, id));
}

function writeCall({ name, input, custom }: ToolCallPart, id: string): JsonObject {
  if (custom === true) return { type: "custom_tool_call", call_id: id, name, input };
  return { type: "function_call", call_id: id, name, arguments: input.trim() === "" ? "{}" : input };
}

/**
 * The id of a call and its output. It is another one where the provider does not take the length or the characters of
 * the id. It is another one also where the provider has seen the id in this conversation: the ids of some vendors begin
 * anew with each answer.
 */
function takeId(id: string, taken: Set<string>): string {
  let own = id;
  for (let again = 0; taken.has(own) || !/^[\w-]{1,64}$/.test(own); again += 1)
    own = `call_${contentHash(`${id} ${again}`).slice(0, 24)}`;
  taken.add(own);
  return own;
}

/** What a tool gave back: a text, or parts where there is more. */
function encodeOutput({ parts, isError }: ToolResultPart, target: RelayTarget, losses: Losses): unknown {
  const texts = parts.flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []));
  const mark = isError ? "Error: " : "";
  if (!parts.some(isMedia)) return `${mark}${texts.join("\n\n")}`;
  const content = parts.flatMap((part) => userPart(part, target, losses));
  return isError ? [inputText(mark.trim()), ...content] : content;
}
