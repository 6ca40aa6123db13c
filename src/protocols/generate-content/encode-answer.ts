import { standardBase64 } from "../../core/bytes/base64.ts";
import type { Part, ToolCallPart, Turn } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { callInput } from "../call-input.ts";
import type { Losses } from "../losses.ts";
import { encodeMedia, isMedia, type MediaPart } from "./encode-media.ts";

/**
 * An earlier answer as the parts it was made of, without the text of its thinking, which the provider does not want
 * back. Throws a 400 for a call whose arguments are no JSON object.
 */
export function encodeAnswer(turn: Turn, losses: Losses): JsonObject[] {
  const parts: JsonObject[] = [];
  let loose: JsonObject | undefined;
  for (const part of turn.parts) {
    if (part.type === "text") parts.push(...signedText(part, losses));
    else if (part.type === "tool_call") parts.push(encodeCall(part, losses));
    else if (isMedia(part)) parts.push(encodeImage(part, losses));
    else if (part.type === "redacted_thinking" || part.type === "thinking") {
      const signature = signatureOf(part, losses);
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
  losses: Losses,
): string | undefined {
  const signature = part.type === "thinking" ? part.signature : part.data;
  if (signature === undefined || signature === "") return undefined;
  const isOwn = part.type === "thinking" && part.issuer !== "anthropic" && isBase64(signature);
  if (isOwn) return signature;
  losses.note({ place: "thinkingParts", why: "others_thinking" });
  return undefined;
}

function signedText(part: Extract<Part, { readonly type: "text" }>, losses: Losses): JsonObject[] {
  const signature = ownSignature(part.signature, losses);
  if (part.text === "" && signature === undefined) return [];
  return [{ text: part.text, ...(signature === undefined ? {} : { thoughtSignature: signature }) }];
}

function encodeImage(part: MediaPart, losses: Losses): JsonObject {
  const signature = part.type === "image" ? standardBase64(part.signature ?? "") : undefined;
  return {
    ...encodeMedia(part, losses),
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  };
}

function encodeCall(call: ToolCallPart, losses: Losses): JsonObject {
  const args = callInput(call, losses);
  const signature = ownSignature(call.signature, losses);
  return {
    functionCall: { ...(call.id === "" ? {} : { id: call.id }), name: call.name, args },
    ...(signature === undefined ? {} : { thoughtSignature: signature }),
  };
}

/** A signature as it came; what cannot be one would be refused with the whole request. */
function ownSignature(signature: string | undefined, losses: Losses): string | undefined {
  if (signature === undefined || signature === "") return undefined;
  if (isBase64(signature)) return signature;
  losses.note({ place: "signature", why: "not_base64" });
  return undefined;
}

/** In either alphabet: https://protobuf.dev/programming-guides/json/ takes both. */
function isBase64(text: string): boolean {
  return /^[\w+/-]+={0,2}$/.test(text) && standardBase64(text) !== undefined;
}
