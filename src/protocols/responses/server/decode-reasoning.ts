import type { Part } from "../../../core/chat.ts";
import { filledText, type JsonObject, objectsIn } from "../../../core/json/json-value.ts";
import { type Carried, type CarrierKey, openCarrier } from "../../carrier.ts";

/** What a reasoning item is to the model that goes on; `undefined`: nobody here can read it. */
export type ReadReasoning =
  | { readonly kind: "part"; readonly part: Part }
  | Extract<Carried, { readonly kind: "signature" }>
  | { readonly kind: "silent" }
  | undefined;

/**
 * Opens what a reasoning item carries. One without state is the thinking that its words tell; the blob of another vendor,
 * or one whose seal is not ours, is nothing.
 */
export function readReasoning(item: JsonObject, key: CarrierKey | undefined): ReadReasoning {
  const blob = filledText(item.encrypted_content);
  if (blob === undefined) {
    const text = wordsOf(item.content) || wordsOf(item.summary);
    return text === "" ? { kind: "silent" } : { kind: "part", part: { type: "thinking", text } };
  }
  const carried = openCarrier(blob, key);
  switch (carried?.kind) {
    case "thinking": {
      const { kind: type, ...thinking } = carried;
      return { kind: "part", part: { type, ...thinking } };
    }
    case "redacted": {
      const { data, issuer } = carried;
      return { kind: "part", part: { type: "redacted_thinking", data, issuer } };
    }
    case "signature":
      return carried;
    default:
      return undefined;
  }
}

function wordsOf(parts: unknown): string {
  return objectsIn(parts)
    .map(({ text }) => filledText(text) ?? "")
    .filter((text) => text !== "")
    .join("\n\n");
}
