import type { Part } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import { OPEN_CHAT } from "../../chat-dialect.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { FORMATS } from "../reasoning-formats.ts";

type Thought = Extract<Part, { readonly type: "thinking" | "redacted_thinking" }>;

/**
 * The members of an assistant message in which its reasoning goes back to a vendor that wants it, and never its text.
 * What another vendor's model thought is left out.
 */
export function encodeReasoning(
  parts: readonly Part[],
  { chat = OPEN_CHAT, model }: RelayTarget,
  losses: Losses,
): JsonObject {
  const thoughts = parts.filter(
    (part): part is Thought => part.type === "thinking" || part.type === "redacted_thinking",
  );
  if (thoughts.length === 0) return {};
  const vendor = model.id.split("/", 1)[0];
  const own = thoughts.filter(({ issuer = vendor }) => issuer === vendor);
  if (own.length < thoughts.length) losses.note({ place: "thinkingParts", why: "others_thinking" });
  if (own.length === 0) return {};
  const { reasoningBack, foreignDetails } = chat;
  if (reasoningBack.includes("reasoning_details") && !foreignDetails)
    return { reasoning_details: own.map((part, index) => ({ ...routedItem(part), index })) };
  const member = (["reasoning_content", "reasoning"] as const).find((name) => reasoningBack.includes(name));
  const text = own.map((part) => (part.type === "thinking" ? part.text : "")).join("");
  if (member === undefined) losses.note({ place: "thinkingParts", why: "thinking_untaken" });
  return member === undefined || text === "" ? {} : { [member]: text };
}

/** A thought as a router takes it, which hands it to the vendor whose it is. */
function routedItem(part: Thought): JsonObject {
  const format = FORMATS.get(part.issuer ?? "") ?? "unknown";
  if (part.type === "redacted_thinking") return { type: "reasoning.encrypted", data: part.data, format };
  const { text, signature } = part;
  return { type: "reasoning.text", text, ...present({ signature }), format };
}
