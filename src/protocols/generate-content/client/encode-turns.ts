import { MOST_ITEMS } from "../../../catalog/parameter-tables/generate-content.ts";
import type { Part, Turn } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { openEmbeddedJson } from "../../embedded-json.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { encodeMedia, isMedia } from "./encode-media.ts";
import { NO_SIGNATURE } from "../signatures.ts";
import { encodeResults } from "./encode-results.ts";

/** What stands before a call that a conversation begins with: the format takes none that answers nobody. */
const CUT_OFF = "(What was said before this is not here.)";

/** A turn as it is sent. */
interface Content {
  readonly role: "user" | "model";
  readonly parts: JsonObject[];
}

/**
 * The turns in their order. What the system says at the start is its instruction; what it says later is a user's text
 * in place. The results of one answer's calls stand in one content behind it, in the order of the calls. A signature
 * goes back on the part that it came with. Throws a 400 for a result without a call and for arguments that are no JSON
 * object. Throws one also for more turns, or parts of one, than the format has.
 */
export function encodeTurns(turns: readonly Turn[], target: RelayTarget, losses: Losses): JsonObject {
  const first = turns.findIndex(({ role }) => role !== "system");
  if (first === -1) losses.note({ place: "turns", why: "system_asks" });
  for (const { parts } of turns) noteHints(parts, losses);
  const asked = turns.slice(Math.max(first, 0));
  const contents: Content[] = [];
  const json = openEmbeddedJson();
  let hasAnswered = false;
  for (const [i, turn] of asked.entries()) {
    if (turn.role === "assistant") {
      hasAnswered = true;
      addAnswer(contents, encodeAnswer(turn, losses));
      const responses = encodeResults(turn, resultsAfter(asked, i), target, json, losses);
      if (responses.length > 0) contents.push({ role: "user", parts: responses });
    } else if (turn.role !== "tool") contents.push({ role: "user", parts: userParts(turn, losses) });
    else if (!hasAnswered) {
      const id = turn.parts.find((part) => part.type === "tool_result")?.callId ?? "";
      throw losses.refusal({ place: "callId", why: "no_call", id });
    }
  }
  if (contents[0]?.parts.some((part) => "functionCall" in part) === true) {
    losses.note({ place: "turns", why: "call_first" });
    contents.unshift({ role: "user", parts: [{ text: CUT_OFF }] });
  }
  signCalls(contents, losses);
  if (target.model.outputModalities.includes("image")) signImages(contents, losses);
  const system = turns.slice(0, Math.max(first, 0)).flatMap((turn) => systemParts(turn, losses));
  refuseTooMany(contents, system, losses);
  return present({ systemInstruction: system.length === 0 ? undefined : { parts: system }, contents });
}

/** More than this format's own check takes: the caller sent neither contents nor parts. */
function refuseTooMany(contents: readonly Content[], system: readonly JsonObject[], losses: Losses): void {
  const most = MOST_ITEMS;
  const count = contents.length;
  if (count > most) throw losses.refusal({ place: "turns", why: "too_many_turns", count, most });
  const long = [system, ...contents.map(({ parts }) => parts)].find(({ length }) => length > most);
  if (long !== undefined)
    throw losses.refusal({ place: "turns", why: "too_many_parts", count: long.length, most });
}

/** Results that a client sent before the next answer stand behind their calls, whatever came between. */
function resultsAfter(turns: readonly Turn[], answer: number): readonly Part[] {
  const results: Part[] = [];
  for (let at = answer + 1; at < turns.length && turns[at]?.role !== "assistant"; at += 1) {
    if (turns[at]?.role === "tool") for (const part of turns[at]?.parts ?? []) results.push(part);
  }
  return results;
}

function addAnswer(contents: Content[], parts: JsonObject[]): void {
  if (parts.length === 0) return;
  const last = contents.at(-1);
  // Two answers in a row: a call must not follow a content of the model's own.
  if (last?.role === "model") for (const part of parts) last.parts.push(part);
  else contents.push({ role: "model", parts });
}

function userParts(turn: Turn, losses: Losses): JsonObject[] {
  const parts = turn.parts.flatMap((part) => (isMedia(part) ? [encodeMedia(part, losses)] : textOf(part)));
  // An empty message is the provider's to judge: without it the turns would mean something else.
  return parts.length === 0 ? [{ text: "" }] : parts;
}

/** What the system says at the start, which the format takes as text alone. */
function systemParts(turn: Turn, losses: Losses): JsonObject[] {
  if (turn.parts.some(({ type }) => type !== "text"))
    throw losses.refusal({ place: "turns", why: "text_only" });
  return turn.parts.flatMap(textOf);
}

function textOf(part: Part): JsonObject[] {
  return part.type === "text" && part.text !== "" ? [{ text: part.text }] : [];
}

/** The first call of each step since a person last said something must be signed; earlier ones are not looked at. */
function signCalls(contents: readonly Content[], losses: Losses): void {
  const said = contents.findLastIndex(
    ({ role, parts }) => role === "user" && !parts.some((part) => "functionResponse" in part),
  );
  for (const { parts } of contents.slice(said + 1)) {
    const first = parts.find((part) => "functionCall" in part);
    if (first === undefined || first.thoughtSignature !== undefined) continue;
    first.thoughtSignature = NO_SIGNATURE;
    losses.note({ place: "callSignature", why: "unsigned_call" });
  }
}

/** An image model wants a signature with each that it is said to have made. */
function signImages(contents: readonly Content[], losses: Losses): void {
  for (const part of contents.flatMap(({ role, parts }) => (role === "model" ? parts : []))) {
    if (part.inlineData === undefined || part.thoughtSignature !== undefined) continue;
    part.thoughtSignature = NO_SIGNATURE;
    losses.note({ place: "imageLink", why: "unsigned_image" });
  }
}

function noteHints(parts: readonly Part[], losses: Losses): void {
  for (const part of parts) {
    if ("cache" in part && part.cache !== undefined) losses.note({ place: "cache", why: "caches_itself" });
    if (part.type === "image" && (part.detail ?? "auto") !== "auto")
      losses.note({ place: "detail", why: "no_word" });
    if (part.type === "tool_result") noteHints(part.parts, losses);
  }
}
