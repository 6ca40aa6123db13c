import type { Part, ToolCallPart, Turn } from "../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { parseExact } from "../exact-json.ts";
import { invalid } from "../request-json.ts";
import { encodeMedia, imageSignature, isMedia, standardBase64 } from "./encode-media.ts";
import type { Warn } from "./warn.ts";

/**
 * An earlier answer as the parts it was made of, without the text of its thinking, which the provider does not want
 * back. Throws a 400 for a call whose arguments are no JSON object.
 */
export function encodeAnswer(turn: Turn, warn: Warn): JsonObject[] {
  const parts: JsonObject[] = [];
  let loose: JsonObject | undefined;
  for (const part of turn.parts) {
    if (part.type === "text") parts.push(...signedText(part, warn));
    else if (part.type === "tool_call") parts.push(encodeCall(part, warn));
    else if (isMedia(part)) parts.push(encodeImage(part));
    else if (part.type === "redacted_thinking" || part.type === "thinking") {
      const signature = signatureOf(part, warn);
      if (signature === undefined) continue;
      const before = parts.at(-1);
      if (isUnsignedText(before) && part.type === "thinking" && part.text === "")
        before.thoughtSignature = signature;
      else {
        loose = { text: "", thoughtSignature: signature };
        parts.push(loose);
      }
    }
  }
  return loose === undefined ? parts : withLoose(parts, loose);
}

/** The signature of a text whose place was lost belongs to the last text; without any it goes back alone. */
function withLoose(parts: readonly JsonObject[], loose: JsonObject): JsonObject[] {
  const text = parts.findLast((part) => isUnsignedText(part));
  if (text === undefined) return [...parts];
  text.thoughtSignature = loose.thoughtSignature;
  return parts.filter((part) => part !== loose);
}

function isUnsignedText(part: JsonObject | undefined): part is JsonObject {
  return typeof part?.text === "string" && part.thoughtSignature === undefined;
}

/** The signature of thinking, where this provider's models have made it. */
function signatureOf(
  part: Extract<Part, { readonly type: "thinking" | "redacted_thinking" }>,
  warn: Warn,
): string | undefined {
  const signature = part.type === "thinking" ? part.signature : part.data;
  if (signature === undefined || signature === "") return undefined;
  const isOwn = part.type === "thinking" && part.issuer !== "anthropic" && isBase64(signature);
  if (isOwn) return signature;
  warn("reasoning_details of another vendor's model were left out: only their own model can read them");
  return undefined;
}

function signedText(part: Extract<Part, { readonly type: "text" }>, warn: Warn): JsonObject[] {
  const signature = ownSignature(part.signature, warn);
  if (part.text === "" && signature === undefined) return [];
  return [{ text: part.text, ...(signature === undefined ? {} : { thoughtSignature: signature }) }];
}

function encodeImage(part: Parameters<typeof encodeMedia>[0]): JsonObject {
  const signature = part.type === "image" ? imageSignature(part) : undefined;
  return { ...encodeMedia(part), ...(signature === undefined ? {} : { thoughtSignature: signature }) };
}

function encodeCall(call: ToolCallPart, warn: Warn): JsonObject {
  const args = call.input.trim() === "" ? {} : parseExact(call.input);
  if (!isJsonObject(args) || !call.input.trim().startsWith(call.input.trim() === "" ? "" : "{"))
    throw invalid(
      `The arguments of the call of ${call.name.slice(0, 64)} must be a JSON object.`,
      "tool_calls[].function.arguments",
    );
  const signature = ownSignature(call.signature, warn);
  return {
    functionCall: { ...(call.id === "" ? {} : { id: call.id }), name: call.name, args },
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  };
}

/** A signature as it came; what cannot be one would be refused with the whole request. */
function ownSignature(signature: string | undefined, warn: Warn): string | undefined {
  if (signature === undefined || signature === "") return undefined;
  if (isBase64(signature)) return signature;
  warn("a thought_signature that is not base64 was left out: this model's provider did not make it");
  return undefined;
}

/** In either alphabet: https://protobuf.dev/programming-guides/json/ takes both. */
function isBase64(text: string): boolean {
  return /^[\w+/-]+={0,2}$/.test(text) && standardBase64(text) !== undefined;
}
