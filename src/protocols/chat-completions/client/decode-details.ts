import type { Issuer } from "../../../core/chat.ts";
import { filledText, type JsonObject, objectsIn, present } from "../../../core/json/json-value.ts";
import { ISSUERS } from "../reasoning-formats.ts";

/** A piece of reasoning as a router tells it: of a known issuer it can be signed, or be sealed `data`. */
export interface Reasoning {
  readonly text: string;
  readonly issuer?: Issuer;
  readonly signature?: string;
  readonly data?: string;
}

/** The items of `reasoning_details` that are a router's; those of other forms tell again what has a member of its own. */
export function decodeDetails(details: unknown): readonly Reasoning[] {
  return objectsIn(details).flatMap((item) => {
    switch (item.type) {
      case "reasoning.text":
        return [reasoning(item, item.text)];
      case "reasoning.summary":
        return [reasoning(item, item.summary)];
      case "reasoning.encrypted":
        return [reasoning(item, "")];
      default:
        return [];
    }
  });
}

function reasoning({ format, signature, data }: JsonObject, text: unknown): Reasoning {
  const issuer = ISSUERS.get(format);
  const told = { text: filledText(text) ?? "" };
  if (issuer === undefined) return told;
  return { ...told, issuer, ...present({ signature: filledText(signature), data: filledText(data) }) };
}
