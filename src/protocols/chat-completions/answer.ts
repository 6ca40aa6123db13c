import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { GatewayError } from "../../core/errors.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/money/token-estimate.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { type AnswerFormat, readWholeAnswer } from "../answer-json.ts";
import { IMAGE_TOKENS, withUntoldOutput } from "../counted-text.ts";
import type { AnswerContext, Metered, RelayAnswer } from "../protocol.ts";
import { isEmpty, saysSomething } from "./empty.ts";
import { repairAnswer } from "./repairs.ts";
import { encodeUsage, isPlainUsage, readUsage } from "./usage.ts";

/** Reads a whole answer, and mends that of a compatible provider. */
export function readAnswer(received: Uint8Array, context: AnswerContext): RelayAnswer {
  return readWholeAnswer(FORMAT, received, context);
}

const FORMAT: AnswerFormat = {
  usageMember: "usage",
  modelMember: () => "model",
  read(value, context) {
    if (!hasChoices(value, context.native))
      throw new GatewayError("upstream_error", "The provider's answer has no choices.");
    if (!isWhole(value.choices as readonly JsonObject[]))
      throw new GatewayError("upstream_error", "The provider's answer is empty, and has no finish reason.");
    const repairs = context.native ? [] : repairAnswer(value);
    const told = readUsage(value.usage);
    const counted = (): Metered => countAnswer(value, context);
    const metered = told === undefined ? counted() : withUntoldOutput(told, counted);
    const keepsUsage = metered.flags.length === 0 && isPlainUsage(value.usage);
    return { metered, repairs, usage: keepsUsage ? undefined : encodeUsage(metered.usage) };
  },
};

/** Whether there are choices that say something; a compatible vendor may leave out the message of a filtered one. */
function hasChoices(value: JsonObject, native: boolean): boolean {
  const { choices } = value;
  if (!Array.isArray(choices) || choices.length === 0) return false;
  return choices.every(
    (choice: unknown) =>
      isJsonObject(choice) &&
      (isJsonObject(choice.message) || (!native && typeof choice.finish_reason === "string")),
  );
}

/** As a stream with its end mark is judged: something was said, or every choice has a reason to say nothing. */
function isWhole(choices: readonly JsonObject[]): boolean {
  return (
    choices.every(({ finish_reason: reason }) => !isEmpty(reason)) ||
    choices.some(({ message }) => isJsonObject(message) && saysSomething(message))
  );
}

/** Our own count of an answer that came without usage. */
function countAnswer(value: JsonObject, context: AnswerContext): Metered {
  const size: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  let images = 0;
  for (const choice of value.choices as { message: JsonObject }[]) {
    for (const field of ["content", "reasoning_content", "reasoning", "refusal"]) {
      const text = choice.message[field];
      if (typeof text === "string") measureText(text, size);
    }
    if (Array.isArray(choice.message.images)) images += choice.message.images.length;
    const calls = choice.message.tool_calls;
    if (Array.isArray(calls)) measureText(JSON.stringify(calls), size);
  }
  const output = estimateTokens(size).expected;
  const imageOutput = images * IMAGE_TOKENS;
  return { usage: { ...NO_USAGE, input: context.expectedInput, output, imageOutput }, flags: ["estimated"] };
}
