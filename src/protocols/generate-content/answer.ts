import { GatewayError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/token-estimate.ts";
import { NO_USAGE, outputTokens } from "../../core/usage.ts";
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
  hasModel: false,
  callMark: "functionCall",
  read(value, context) {
    const candidates = candidatesOf(value);
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
  const { promptFeedback } = value;
  if (!isJsonObject(promptFeedback)) return false;
  const { blockReason } = promptFeedback;
  return (typeof blockReason === "string" && blockReason !== "") || typeof blockReason === "number";
}

function candidatesOf(value: JsonObject): readonly JsonObject[] {
  return Array.isArray(value.candidates) ? value.candidates.filter(isJsonObject) : [];
}

/** Neither content nor a reason for having none: in a stream it would be cut off. */
function saysNothing({ content, finishReason }: JsonObject): boolean {
  const parts = isJsonObject(content) && Array.isArray(content.parts) ? content.parts : [];
  const isEmpty = (part: unknown): boolean =>
    !isJsonObject(part) || Object.keys(part).length === 0 || part.text === "";
  return (finishReason === undefined || finishReason === null || finishReason === "") && parts.every(isEmpty);
}

/** Our own count of an answer that came without usage. */
function countAnswer(candidates: readonly JsonObject[], searches: number, context: AnswerContext): Metered {
  const text: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  const thoughts: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  let images = 0;
  for (const { content } of candidates) {
    const parts =
      isJsonObject(content) && Array.isArray(content.parts) ? content.parts.filter(isJsonObject) : [];
    for (const part of parts) {
      if (isJsonObject(part.inlineData)) images += 1;
      else if (typeof part.text === "string") measureText(part.text, part.thought === true ? thoughts : text);
      else if (Object.keys(part).some((name) => name !== "thoughtSignature"))
        measureText(JSON.stringify({ ...part, thoughtSignature: undefined }), text);
    }
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
