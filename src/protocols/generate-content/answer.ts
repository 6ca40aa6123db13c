import { GatewayError } from "../../core/errors.ts";
import { filledText, isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/money/token-estimate.ts";
import { NO_USAGE, outputTokens } from "../../core/money/usage.ts";
import { type AnswerFormat, readWholeAnswer } from "../answer-json.ts";
import { IMAGE_TOKENS, withUntoldOutput } from "../counted-text.ts";
import type { AnswerContext, Metered, RelayAnswer } from "../protocol.ts";
import { encodeUsage, readUsage, searchesOf } from "./usage.ts";

/** Reads a whole answer. A blocked prompt is one. */
export function readAnswer(received: Uint8Array, context: AnswerContext): RelayAnswer {
  return readWholeAnswer(FORMAT, received, context);
}

const FORMAT: AnswerFormat = {
  usageMember: "usageMetadata",
  // Else it is the provider's own word.
  modelMember: ({ isFallback = false }) => (isFallback ? "modelVersion" : undefined),
  callMark: "functionCall",
  read(value, context) {
    const candidates = objectsIn(value.candidates);
    const blocked = isBlocked(value);
    if (candidates.length === 0 && !blocked)
      throw new GatewayError("upstream_error", "The provider's answer has no candidates.");
    if (!blocked && candidates.every(saysNothing))
      throw new GatewayError("upstream_error", "The provider's answer is empty, and has no finish reason.");
    const searches = candidates.reduce(
      (sum, { groundingMetadata }) => sum + searchesOf(groundingMetadata).length,
      0,
    );
    const told = readUsage(value.usageMetadata, searches);
    const metered = meteredAnswer(told, blocked, () => countAnswer(candidates, searches, context));
    // Counts that are absent are none: a usage that has no other is the provider's word on a blocked prompt.
    const keeps =
      told === undefined
        ? blocked && isJsonObject(value.usageMetadata)
        : metered === told && !told.flags.includes("clamped");
    return { metered, usage: keeps ? undefined : encodeUsage(metered.usage) };
  },
};

/** A prompt that was blocked, and nobody said what it cost: nothing is charged for what nobody counted. */
export const NOTHING_TOLD: Metered = { usage: NO_USAGE, flags: ["estimated"] };

/** What was told, and our count of what was not; of a blocked prompt that led to nothing only what was told. */
function meteredAnswer(told: Metered | undefined, blocked: boolean, counted: () => Metered): Metered {
  if (blocked && outputTokens(counted().usage) === 0) return told ?? NOTHING_TOLD;
  return told === undefined ? counted() : withUntoldOutput(told, counted);
}

/** Whether the prompt was blocked: a real answer of this format, with a 200 and no candidates. */
export function isBlocked(value: JsonObject): boolean {
  if (!isJsonObject(value.promptFeedback)) return false;
  const { blockReason } = value.promptFeedback;
  return filledText(blockReason) !== undefined || typeof blockReason === "number";
}

/** The parts of a candidate. */
export function partsOf({ content }: JsonObject): readonly JsonObject[] {
  return isJsonObject(content) ? objectsIn(content.parts) : [];
}

/** Neither content nor a reason for having none: in a stream it would be cut off. */
function saysNothing(candidate: JsonObject): boolean {
  const isEmpty = (part: JsonObject): boolean => Object.keys(part).length === 0 || part.text === "";
  return (candidate.finishReason ?? "") === "" && partsOf(candidate).every(isEmpty);
}

/** Our own count of an answer that came without usage. */
function countAnswer(candidates: readonly JsonObject[], searches: number, context: AnswerContext): Metered {
  const text: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  const thoughts: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  let images = 0;
  for (const part of candidates.flatMap(partsOf)) {
    const { thoughtSignature: _signature, ...said } = part;
    if (isJsonObject(part.inlineData)) images += 1;
    else if (typeof part.text === "string") measureText(part.text, part.thought === true ? thoughts : text);
    else if (Object.keys(said).length > 0) measureText(JSON.stringify(said), text);
  }
  return {
    usage: {
      ...NO_USAGE,
      input: context.expectedInput,
      output: estimateTokens(text).expected,
      reasoning: estimateTokens(thoughts).expected,
      imageOutput: images * IMAGE_TOKENS,
      ...(searches === 0 ? {} : { webSearches: searches }),
    },
    flags: ["estimated"],
  };
}
