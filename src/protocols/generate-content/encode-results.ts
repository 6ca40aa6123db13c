import type { Part, ToolResultPart, Turn } from "../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { EmbeddedJson } from "../embedded-json.ts";
import type { Losses } from "../losses.ts";
import type { RelayTarget } from "../protocol.ts";
import { encodeMedia, isMedia, type MediaPart } from "./encode-media.ts";

/**
 * The results of an answer's calls, in the order of the calls. A call that nobody answered is given an error, a second
 * result of one call is left out, both with a warning; a result of no call is a 400.
 */
export function encodeResults(
  answer: Turn,
  given: readonly Part[],
  target: RelayTarget,
  json: EmbeddedJson,
  losses: Losses,
): JsonObject[] {
  const calls = answer.parts.filter((part) => part.type === "tool_call");
  const results = byCall(given);
  const parts = calls.flatMap(({ id, name }) => {
    const result = results.get(id)?.next().value;
    const about = { ...(id === "" ? {} : { id }), name };
    if (result === undefined) {
      losses.note({ place: "turns", why: "no_result", name });
      return [{ functionResponse: { ...about, response: { error: "The call was given no result." } } }];
    }
    return encodeResult(about, result, target, json, losses);
  });
  const called = new Set(calls.map(({ id }) => id));
  for (const [callId, left] of results) {
    if (!called.has(callId)) throw losses.refusal({ place: "callId", why: "no_call", id: callId });
    if (left.next().done !== true) losses.note({ place: "turns", why: "second_result" });
  }
  return parts;
}

/** The results of each call, in their order. */
function byCall(given: readonly Part[]): ReadonlyMap<string, ArrayIterator<ToolResultPart>> {
  const results = given.filter((part) => part.type === "tool_result");
  const lists = Map.groupBy(results, ({ callId }) => callId);
  return new Map([...lists].map(([callId, list]) => [callId, list.values()]));
}

/** Media that may stand in a result itself: https://ai.google.dev/gemini-api/docs/function-calling#multimodal */
const WITHIN = /^(?:image\/(?:png|jpeg|webp)|application\/pdf|text\/plain)$/;

function encodeResult(
  about: JsonObject,
  result: ToolResultPart,
  target: RelayTarget,
  json: EmbeddedJson,
  losses: Losses,
): JsonObject[] {
  const text = result.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const media = result.parts.filter(isMedia).map((part) => [part, encodeMedia(part, losses)] as const);
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

/**
 * A result as the object that the format wants: JSON as it is, all else under the vendor's own names. JSON that is too
 * much of it stays the text that it came as.
 */
function responseOf(text: string, isError: boolean, json: EmbeddedJson): JsonObject {
  const { value } = /^\s*[{[]/.test(text) ? json.read(text) : {};
  if (isError) return { error: value ?? text };
  return isJsonObject(value) ? value : { output: value ?? text };
}
