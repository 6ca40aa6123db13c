import type { Part, ToolResultPart, Turn } from "../../../core/chat.ts";
import { filled, filledText, isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import type { EmbeddedJson } from "../../embedded-json.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { encodeMedia, isMedia } from "./encode-media.ts";

/**
 * The results of an answer's calls, in the order of the calls. With a warning each, a call that nobody answered is
 * given an error, and a second result of one call is left out. A result of no call is a 400.
 */
export function encodeResults(
  answer: Turn,
  given: readonly Part[],
  target: RelayTarget,
  json: EmbeddedJson,
  losses: Losses,
): JsonObject[] {
  const calls = answer.parts.filter((part) => part.type === "tool_call");
  const results = Map.groupBy(
    given.filter((part) => part.type === "tool_result"),
    ({ callId }) => callId,
  );
  const called = new Set(calls.map(({ id }) => id));
  const parts = calls.flatMap(({ id, name }) => {
    const result = results.get(id)?.shift();
    const about = { id: filledText(id), name };
    if (result !== undefined) return encodeResult(about, result, target, json, losses);
    losses.note({ place: "turns", why: "no_result", name });
    return [{ functionResponse: { ...about, response: { error: "The call was given no result." } } }];
  });
  for (const [id, left] of results) {
    if (!called.has(id)) throw losses.refusal({ place: "callId", why: "no_call", id });
    if (left.length > 0) losses.note({ place: "turns", why: "second_result" });
  }
  return parts;
}

/** Media that may stand in a result itself: https://ai.google.dev/gemini-api/docs/function-calling#multimodal */
const WITHIN = /^(?:image\/(?:png|jpeg|webp)|application\/pdf|text\/plain)$/;

function encodeResult(
  about: JsonObject,
  { parts, isError }: ToolResultPart,
  target: RelayTarget,
  json: EmbeddedJson,
  losses: Losses,
): JsonObject[] {
  const text = parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const media = parts.filter(isMedia).map((part) => encodeMedia(part, losses));
  // Models that are told a budget are of the generation before results of more than text.
  const isWithin = ({ inlineData }: JsonObject): boolean =>
    target.model.thinking?.style !== "budget" &&
    isJsonObject(inlineData) &&
    WITHIN.test(String(inlineData.mimeType));
  const response = responseOf(text, isError, json);
  return [
    { functionResponse: { ...about, response, parts: filled(media.filter(isWithin)) } },
    ...media.filter((part) => !isWithin(part)),
  ];
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
