import { MOST_ITEMS } from "../../catalog/parameter-tables/generate-content.ts";
import type { Part, Turn } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { RelayTarget } from "../protocol.ts";
import { openEmbeddedJson } from "../embedded-json.ts";
import { invalid } from "../request-json.ts";
import { encodeAnswer } from "./encode-answer.ts";
import { encodeMedia, isMedia } from "./encode-media.ts";
import { encodeResults, orphan } from "./encode-results.ts";
import type { Warn } from "./warn.ts";

/** A turn as it is sent. */
interface Content {
  readonly role: "user" | "model";
  readonly parts: JsonObject[];
}

/** The turns of a request. */
export interface EncodedTurns {
  readonly systemInstruction?: JsonObject;
  readonly contents: readonly Content[];
}

/**
 * What a call or an image is sent with that has no signature of its own, because another model made it or a client lost
 * it. The text itself is what the vendor documents for JSON: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
const PLACEHOLDER = "skip_thought_signature_validator";

/**
 * The turns in their order: what the system says at the start as its instruction, what it says later as a user's text in
 * place, and the results of one answer's calls in one content behind it, in the order of the calls. A signature goes back
 * on the part that it came with. Throws a 400 for a result without a call, for arguments that are no JSON object, and for
 * more turns, or parts of one, than the format has.
 */
export function encodeTurns(turns: readonly Turn[], target: RelayTarget, warn: Warn): EncodedTurns {
  const first = turns.findIndex(({ role }) => role !== "system");
  if (first === -1)
    warn("messages of the role system were sent as a user's: this model wants something to answer");
  const lead = Math.max(first, 0);
  warnOfHints(turns, warn);
  const contents: Content[] = [];
  const json = openEmbeddedJson();
  let hasAnswered = false;
  turns.slice(lead).forEach((turn, i, rest) => {
    if (turn.role === "assistant") {
      hasAnswered = true;
      addAnswer(contents, encodeAnswer(turn, warn));
      const responses = encodeResults(turn, resultsAfter(rest, i), target, json, warn);
      if (responses.length > 0) contents.push({ role: "user", parts: responses });
    } else if (turn.role !== "tool") {
      contents.push({ role: "user", parts: userParts(turn) });
    } else if (!hasAnswered) {
      throw orphan(turn.parts.find((part) => part.type === "tool_result")?.callId);
    }
  });
  signCalls(contents, warn);
  if (target.model.outputModalities.includes("image")) signImages(contents, warn);
  const system = turns.slice(0, lead).flatMap(systemParts);
  refuseTooMany(contents, system, target.model.id);
  return { ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }), contents };
}

/** The caller is told in the words of the format that he wrote: he sent neither contents nor parts. */
function refuseTooMany(contents: readonly Content[], system: readonly JsonObject[], model: string): void {
  const refuse = (what: string): never => {
    throw invalid(`messages have ${what}, and ${model} takes at most ${MOST_ITEMS}.`, "messages");
  };
  if (contents.length > MOST_ITEMS) refuse(`${contents.length} turns, the results of calls among them`);
  const long = [system, ...contents.map(({ parts }) => parts)].find(({ length }) => length > MOST_ITEMS);
  if (long !== undefined) refuse(`${long.length} parts in one turn`);
}

/** Results that a client sent before the next answer stand behind their calls, whatever came between. */
function resultsAfter(turns: readonly Turn[], answer: number): readonly Part[] {
  const results: Part[][] = [];
  for (let at = answer + 1; at < turns.length; at += 1) {
    const { role, parts } = turns[at] as Turn;
    if (role === "assistant") break;
    if (role === "tool") results.push([...parts]);
  }
  return results.flat();
}

function addAnswer(contents: Content[], parts: JsonObject[]): void {
  if (parts.length === 0) return;
  const last = contents.at(-1);
  // Two answers in a row: a call must not follow a content of the model's own.
  if (last?.role === "model") for (const part of parts) last.parts.push(part);
  else contents.push({ role: "model", parts });
}

function userParts(turn: Turn): JsonObject[] {
  const parts = turn.parts.flatMap((part) => (isMedia(part) ? [encodeMedia(part)] : textOf(part)));
  // An empty message is the provider's to judge: without it the turns would mean something else.
  return parts.length === 0 ? [{ text: "" }] : parts;
}

/** What the system says at the start, which the format takes as text alone. */
function systemParts(turn: Turn): JsonObject[] {
  if (turn.parts.some(({ type }) => type !== "text"))
    throw invalid("A system message in messages may hold text only.", "messages");
  return turn.parts.flatMap(textOf);
}

function textOf(part: Part): JsonObject[] {
  return part.type === "text" && part.text !== "" ? [{ text: part.text }] : [];
}

/** The first call of each step since a person last said something must be signed; earlier ones are not looked at. */
function signCalls(contents: readonly Content[], warn: Warn): void {
  const said = contents.findLastIndex(
    ({ role, parts }) => role === "user" && !parts.some((part) => "functionResponse" in part),
  );
  for (const { parts } of contents.slice(said + 1)) {
    const first = parts.find((part) => "functionCall" in part);
    if (first === undefined || first.thoughtSignature !== undefined) continue;
    first.thoughtSignature = PLACEHOLDER;
    warn(
      "tool_calls[].extra_content.google.thought_signature is missing: the model goes on without what it thought",
    );
  }
}

/** An image model wants a signature with each that it is said to have made. */
function signImages(contents: readonly Content[], warn: Warn): void {
  for (const part of contents.flatMap(({ role, parts }) => (role === "model" ? parts : []))) {
    if (part.inlineData === undefined || part.thoughtSignature !== undefined) continue;
    part.thoughtSignature = PLACEHOLDER;
    warn("image_url.url has no thought_signature: the model goes on without what it thought of the image");
  }
}

function warnOfHints(turns: readonly Turn[], warn: Warn): void {
  for (const part of turns.flatMap((turn) => turn.parts)) {
    warnOfHint(part, warn);
    if (part.type === "tool_result") for (const inner of part.parts) warnOfHint(inner, warn);
  }
}

function warnOfHint(part: Part, warn: Warn): void {
  if ("cache" in part && part.cache !== undefined)
    warn("cache_control was left out: this model's provider caches by itself");
  if (part.type === "image" && part.detail !== undefined && part.detail !== "auto")
    warn("image_url.detail was left out: this model has no such word for one image");
}
