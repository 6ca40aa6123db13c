import { GatewayError } from "../../core/errors.ts";
import { type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/money/token-estimate.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { type AnswerFormat, readWholeAnswer } from "../answer-json.ts";
import { withUntoldOutput } from "../counted-text.ts";
import type { AnswerContext, Metered, RelayAnswer } from "../protocol.ts";
import { encodeUsage, readUsage } from "./usage.ts";

/** Reads a whole answer. */
export function readAnswer(received: Uint8Array, context: AnswerContext): RelayAnswer {
  return readWholeAnswer(FORMAT, received, context);
}

const FORMAT: AnswerFormat = {
  usageMember: "usage",
  modelMember: () => "model",
  callMark: "tool_use",
  read(value, context) {
    if (!isMessage(value)) throw new GatewayError("upstream_error", "The provider's answer is no message.");
    const told = readUsage(value.usage);
    const counted = (): Metered => countAnswer(value.content, context);
    const metered = told === undefined ? counted() : withUntoldOutput(told, counted);
    return { metered, usage: metered.flags.length === 0 ? undefined : encodeUsage(metered.usage) };
  },
};

function isMessage(value: JsonObject): value is JsonObject & { readonly content: readonly unknown[] } {
  return (value.type === undefined || value.type === "message") && Array.isArray(value.content);
}

/** Our own count of an answer that came without usage. */
function countAnswer(content: readonly unknown[], context: AnswerContext): Metered {
  const size: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  for (const { text, thinking, name, input } of objectsIn(content)) {
    for (const said of [text, thinking, name]) if (typeof said === "string") measureText(said, size);
    if (input !== undefined) measureText(JSON.stringify(input), size);
  }
  const { expected } = estimateTokens(size);
  return { usage: { ...NO_USAGE, input: context.expectedInput, output: expected }, flags: ["estimated"] };
}
