import type { ThinkingWish } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import { OPEN_CHAT } from "../../chat-dialect.ts";
import type { Losses } from "../../losses.ts";
import type { RelayTarget } from "../../protocol.ts";
import { sayThinking } from "../thinking.ts";

/**
 * A wish in the format's own three fields, which become the target's words with those of any client. A target that is
 * sent all fields as they are is told in its words at once.
 */
export function encodeThinking(
  wish: ThinkingWish | undefined,
  { chat = OPEN_CHAT, model, unknownFields }: RelayTarget,
  losses: Losses,
): JsonObject {
  if (wish === undefined) return {};
  const { mode, budgetTokens = 0, effort, hidden = false } = wish;
  const canHide = chat.thinking.toggle === "reasoning";
  if (hidden && !canHide) losses.note({ place: "hidden", why: "no_field" });
  if (unknownFields === "pass") return sayThinking({ ...wish, hidden: false }, chat.thinking, model.thinking);
  const reasoning = hidden && canHide ? { exclude: true } : undefined;
  if (mode === "off" || effort === "none") return present({ thinking: { type: "disabled" }, reasoning });
  const type = mode === undefined ? undefined : TYPES[mode];
  const budget_tokens = budgetTokens > 0 ? budgetTokens : undefined;
  return present({
    thinking: filled(present({ type, budget_tokens })),
    reasoning_effort: effort,
    reasoning,
  });
}

const TYPES = { on: "enabled", auto: "adaptive" } as const;
