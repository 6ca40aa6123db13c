import type { GatewayError } from "../../core/errors.ts";
import type { Part, ToolResultPart, Turn } from "../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { EmbeddedJson } from "../embedded-json.ts";
import { parseExact } from "../exact-json.ts";
import type { RelayTarget } from "../protocol.ts";
import { invalid } from "../request-json.ts";
import { printable } from "../printable.ts";
import { encodeMedia, isMedia, type MediaPart } from "./encode-media.ts";
import type { Warn } from "./warn.ts";

/**
 * The results of an answer's calls, in the order of the calls. A call that nobody answered is given an error, a second
 * result of one call is left out, both with a warning; a result of no call is a 400.
 */
export function encodeResults(
  answer: Turn,
  given: readonly Part[],
  target: RelayTarget,
  json: EmbeddedJson,
  warn: Warn,
): JsonObject[] {
  const calls = answer.parts.filter((part) => part.type === "tool_call");
  const results = byCall(given);
  const parts = calls.flatMap(({ id, name }) => {
    const result = results.get(id)?.next().value;
    const about = { ...(id === "" ? {} : { id }), name };
    if (result === undefined) {
      warn(`messages have no result of a call of ${printable(name)}: the model is told that there is none`);
      return [{ functionResponse: { ...about, response: { error: "The call was given no result." } } }];
    }
    return encodeResult(about, result, target, json);
  });
  const called = new Set(calls.map(({ id }) => id));
  for (const [callId, left] of results) {
    if (!called.has(callId)) throw orphan(callId);
    if (left.next().done !== true) warn("messages have a second result of one call: it was left out");
  }
  return parts;
}

/** The results of each call, in their order. */
function byCall(given: readonly Part[]): ReadonlyMap<string, ArrayIterator<ToolResultPart>> {
  const results = given.filter((part) => part.type === "tool_result");
  const lists = Map.groupBy(results, ({ callId }) => callId);
  return new Map([...lists].map(([callId, list]) => [callId, list.values()]));
}

/** The 400 for a result whose call is not in the turn before it. */
export function orphan(callId = ""): GatewayError {
  return invalid(
    `messages have a result for the tool_call_id "${printable(callId)}", and no call before it has that id: send the assistant's message with it.`,
    "tool_call_id",
  );
}

/** Media that may stand in a result itself: https://ai.google.dev/gemini-api/docs/function-calling#multimodal */
const WITHIN = /^(?:image\/(?:png|jpeg|webp)|application\/pdf|text\/plain)$/;

function encodeResult(
  about: JsonObject,
  result: ToolResultPart,
  target: RelayTarget,
  json: EmbeddedJson,
): JsonObject[] {
  const text = result.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const media = result.parts.filter(isMedia).map((part) => [part, encodeMedia(part)] as const);
  // Models that are told a budget are of the generation before results of more than text.
  const takesMedia = target.model.thinking?.style !== "budget";
  const isWithin = ([part, encoded]: (typeof media)[number]): boolean =>
    takesMedia && fitsWithin(part, encoded);
  const within = media.filter(isWithin).map(([, part]) => part);
  const beside = media.filter((one) => !isWithin(one)).map(([, part]) => part);
  const response = responseOf(text, result.isError, json);
  return [
    { functionResponse: { ...about, response, ...(within.length === 0 ? {} : { parts: within }) } },
    ...beside,
  ];
}

function fitsWithin({ source }: MediaPart, { inlineData }: JsonObject): boolean {
  return source.kind === "data" && isJsonObject(inlineData) && WITHIN.test(String(inlineData.mimeType));
}

/** A result as the object that the format wants: JSON as it is, all else under the vendor's own names. */
function responseOf(text: string, isError: boolean, json: EmbeddedJson): JsonObject {
  const value = /^\s*[{[]/.test(text) && isJson(text, json) ? parseExact(text) : undefined;
  if (isError) return { error: value ?? text };
  return isJsonObject(value) ? value : { output: value ?? text };
}

/** JSON that is too much of it stays the text that it came as. */
function isJson(text: string, json: EmbeddedJson): boolean {
  const kind = json.kindOf(text);
  return kind === "object" || kind === "value";
}
