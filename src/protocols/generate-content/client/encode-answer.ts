import { standardBase64 } from "../../../core/bytes/base64.ts";
import type { Part, Turn } from "../../../core/chat.ts";
import { filledText, type JsonObject } from "../../../core/json/json-value.ts";
import { callInput } from "../../call-input.ts";
import type { Losses } from "../../losses.ts";
import { encodeMedia } from "./encode-media.ts";

/**
 * An earlier answer as the parts it was made of, without the text of its thinking, which the provider does not want
 * back. Throws a 400 for a call whose arguments are no JSON object.
 */
export function encodeAnswer(turn: Turn, losses: Losses): JsonObject[] {
  const parts: JsonObject[] = [];
  let loose: JsonObject | undefined;
  for (const part of turn.parts) {
    if (part.type !== "thinking" && part.type !== "redacted_thinking") {
      const encoded = encodePart(part, losses);
      if (encoded !== undefined) parts.push(encoded);
      continue;
    }
    const thoughtSignature = signatureOf(part, losses);
    if (thoughtSignature === undefined) continue;
    const before = parts.at(-1);
    if (isUnsignedText(before) && part.type === "thinking" && part.text === "")
      before.thoughtSignature = thoughtSignature;
    else parts.push((loose = { text: "", thoughtSignature }));
  }
  // The signature of a text whose place was lost belongs to the last text; without any it goes back alone.
  const text = loose === undefined ? undefined : parts.findLast(isUnsignedText);
  if (text === undefined) return parts;
  text.thoughtSignature = loose?.thoughtSignature;
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
  const signature = filledText(part.type === "thinking" ? part.signature : part.data);
  const isOwn = part.type === "thinking" && (part.issuer ?? "google") === "google";
  if (signature === undefined || (isOwn && isBase64(signature))) return signature;
  losses.note({ place: "thinkingParts", why: "others_thinking" });
  return undefined;
}

function encodePart(part: Part, losses: Losses): JsonObject | undefined {
  switch (part.type) {
    case "text": {
      const thoughtSignature = ownSignature(part.signature, losses);
      if (part.text === "" && thoughtSignature === undefined) return undefined;
      return { text: part.text, thoughtSignature };
    }
    case "tool_call": {
      const functionCall = { id: filledText(part.id), name: part.name, args: callInput(part, losses) };
      return { functionCall, thoughtSignature: ownSignature(part.signature, losses) };
    }
    case "image": {
      const thoughtSignature = standardBase64(part.signature ?? "");
      return { ...encodeMedia(part, losses), thoughtSignature };
    }
    case "document":
    case "audio":
    case "video":
      return encodeMedia(part, losses);
    default:
      return undefined;
  }
}

/** A signature as it came; what cannot be one would be refused with the whole request. */
function ownSignature(signature: string | undefined, losses: Losses): string | undefined {
  if (signature === undefined || signature === "" || isBase64(signature)) return filledText(signature);
  losses.note({ place: "signature", why: "not_base64" });
  return undefined;
}

/** In either alphabet: https://protobuf.dev/programming-guides/json/ takes both. */
function isBase64(text: string): boolean {
  return /^[\w+/-]+={0,2}$/.test(text) && standardBase64(text) !== undefined;
}
