import type { Part } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json/json-value.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { familyOf } from "../../recalled-thinking.ts";

type Thought = Extract<Part, { readonly type: "thinking" | "redacted_thinking" }>;

/**
 * A piece of thinking as the item that it came as. `undefined` for one that the provider cannot read, because another
 * vendor's model has sealed it, or nobody has. An item without an id is taken where nothing is stored.
 */
export function encodeReasoning(
  part: Thought,
  { model }: Pick<RelayTarget, "model">,
  losses: Losses,
): JsonObject | undefined {
  const family = familyOf(model.id);
  if ((part.issuer ?? family) !== family) {
    losses.note({ place: "thinkingParts", why: "others_thinking" });
    return undefined;
  }
  const [text, sealed] = part.type === "thinking" ? [part.text, part.signature] : ["", part.data];
  if (sealed === undefined || sealed === "") {
    losses.note({ place: "thinkingParts", why: "unsigned_thinking" });
    return undefined;
  }
  const summary = text === "" ? [] : [{ type: "summary_text", text }];
  return { type: "reasoning", summary, encrypted_content: sealed };
}
