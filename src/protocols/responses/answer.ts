import { GatewayError } from "../../core/errors.ts";
import { setMembers } from "../../core/json/json-splice.ts";
import { isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/money/token-estimate.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { type AnswerFormat, readWholeAnswer } from "../answer-json.ts";
import { withUntoldOutput } from "../counted-text.ts";
import type { AnswerContext, Metered, RelayAnswer } from "../protocol.ts";
import { readErrorObject } from "../refusal.ts";
import { encodeUsage, readUsage } from "./usage.ts";

/** Reads a whole answer: its bytes stay, but for the model, what it repeats of the request, usage and credit. */
export function readAnswer(received: Uint8Array, context: AnswerContext): RelayAnswer {
  const answer = readWholeAnswer(FORMAT, received, context);
  const echoed = echoedIn(answer.said(), context);
  if (Object.keys(echoed).length === 0 && context.keep === undefined) return answer;
  return {
    metered: answer.metered,
    repairs: answer.repairs,
    said: () => answer.said(),
    encode(credit) {
      const encoded = setMembers(answer.encode(credit), echoed);
      context.keep?.(new TextDecoder().decode(encoded));
      return encoded;
    },
  };
}

/** Members of a response object that repeat what the client sent, and not what we did, as JSON texts. */
export function echoedIn(
  response: Readonly<JsonObject>,
  { echo = {} }: AnswerContext,
): Record<string, string> {
  const names = Object.keys(echo).filter((name) => name in response);
  return Object.fromEntries(names.map((name) => [name, JSON.stringify(echo[name])]));
}

const FORMAT: AnswerFormat = {
  usageMember: "usage",
  modelMember: () => "model",
  callMark: '"arguments"',
  read(value, context) {
    if (value.status === "failed") throw readErrorObject(value.error, context);
    if (value.status !== "completed" && value.status !== "incomplete")
      throw new GatewayError("upstream_error", "The provider's answer is not a response that has ended.");
    if (!Array.isArray(value.output))
      throw new GatewayError("upstream_error", "The provider's answer has no output.");
    const told = readUsage(value);
    const counted = (): Metered => countAnswer(value, context);
    const metered = told === undefined ? counted() : withUntoldOutput(told, counted);
    return { metered, usage: metered.flags.length === 0 ? undefined : encodeUsage(metered.usage) };
  },
};

/** Our own count of an answer that came without usage. */
function countAnswer({ output }: JsonObject, { expectedInput }: AnswerContext): Metered {
  const size: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  for (const item of objectsIn(output)) {
    for (const part of [...objectsIn(item.content), ...objectsIn(item.summary)])
      if (isJsonObject(part) && typeof part.text === "string") measureText(part.text, size);
    for (const name of ["name", "arguments", "input"])
      if (typeof item[name] === "string") measureText(item[name], size);
  }
  const counted = estimateTokens(size).expected;
  return { usage: { ...NO_USAGE, input: expectedInput, output: counted }, flags: ["estimated"] };
}
