import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { creditsText } from "../../core/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import { type Member, memberName, openScan, readMembers } from "../../core/json-scan.ts";
import { spliceObject } from "../../core/json-splice.ts";
import { estimateTokens, measureText, type TextSize } from "../../core/token-estimate.ts";
import { NO_USAGE } from "../../core/usage.ts";
import type { AnswerContext, Metered, RelayAnswer } from "../protocol.ts";
import { errorWithin, readErrorObject } from "../refusal.ts";
import { repairAnswer, type RepairName } from "./repairs.ts";
import { encodeUsage, isPlainUsage, readUsage } from "./usage.ts";

const MAX_DEPTH = 256;

/**
 * Reads a whole answer: its bytes stay, but for `model`, padding, `credit` at the end, and `usage` where the
 * provider's is missing or cannot be. Throws `upstream_error` for a 200 that is no answer.
 */
export function readAnswer(received: Uint8Array, context: AnswerContext): RelayAnswer {
  const body = withoutMark(received);
  const value = parse(body);
  const error = errorWithin(value);
  if (error !== undefined) throw readErrorObject(error, context);
  if (!hasChoices(value, context.native))
    throw new GatewayError("upstream_error", "The provider's answer has no choices.");
  const repairs: readonly RepairName[] = context.native ? [] : repairAnswer(value);
  const bytes = repairs.length === 0 ? body : new TextEncoder().encode(JSON.stringify(value));
  // Found before the charge: an answer that cannot be written must not be paid for.
  const members = readMembers(openScan(bytes, bytes.length, MAX_DEPTH));
  if (members === undefined)
    throw new GatewayError("upstream_error", "The provider's answer nests too deeply.");
  const told = readUsage(value.usage);
  const metered = told ?? countAnswer(value, context);
  const keepUsage = told !== undefined && told.flags.length === 0 && isPlainUsage(value.usage);
  return {
    metered,
    repairs,
    encode: (credit) =>
      put(bytes, members, context, [
        ...(keepUsage ? [] : [["usage", JSON.stringify(encodeUsage(metered.usage))] as const]),
        ["credit", creditsText(credit)],
      ]),
  };
}

/** The text without a byte order mark, which JSON has no place for. */
function withoutMark(body: Uint8Array): Uint8Array {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

function parse(body: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    if (isJsonObject(value)) return value;
  } catch (cause) {
    throw new GatewayError("upstream_error", "The provider's answer is not JSON.", { cause });
  }
  throw new GatewayError("upstream_error", "The provider's answer is not a JSON object.");
}

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

/** Sets members at the end of the answer and the gateway's own id as `model`. */
function put(
  bytes: Uint8Array,
  members: readonly Member[],
  context: AnswerContext,
  added: readonly (readonly [string, string])[],
): Uint8Array {
  const names = new Set([...context.padding, ...added.map(([name]) => name)]);
  const named = members.map((member) => [memberName(bytes, member.keyStart, member.keyEnd), member] as const);
  const model = JSON.stringify(context.model);
  const models = named.filter(([name]) => name === "model").map(([, member]) => [member, model] as const);
  return spliceObject(bytes, members, {
    remove: new Set(named.filter(([name]) => names.has(name)).map(([, member]) => member)),
    replace: new Map(models),
    append: [
      ...(models.length === 0 ? [`"model":${model}`] : []),
      ...added.map(([name, text]) => `"${name}":${text}`),
    ],
  });
}

/** Our own count of an answer that came without usage. */
function countAnswer(value: JsonObject, context: AnswerContext): Metered {
  const size: TextSize = { ascii: 0, alphabetic: 0, ideographic: 0 };
  for (const choice of value.choices as { message: JsonObject }[]) {
    for (const field of ["content", "reasoning_content", "reasoning", "refusal"]) {
      const text = choice.message[field];
      if (typeof text === "string") measureText(text, size);
    }
    const calls = choice.message.tool_calls;
    if (Array.isArray(calls)) measureText(JSON.stringify(calls), size);
  }
  const { expected } = estimateTokens(size);
  return { usage: { ...NO_USAGE, input: context.expectedInput, output: expected }, flags: ["estimated"] };
}
