import type { ThinkingWish } from "../../../core/chat.ts";
import { type JsonObject, present } from "../../../core/json/json-value.ts";
import type { Effort, Model } from "../../../core/model.ts";
import type { Losses } from "../../losses.ts";
import { budgetOf, nearestEffort } from "../../thinking.ts";
import type { EncodedTurns } from "./encode-turns.ts";
import { LEAST_BUDGET } from "../thinking.ts";

/** What a wish is said for. */
interface ThinkingTarget extends Pick<EncodedTurns, "hasLostThinking"> {
  readonly model: Model;
  readonly maxTokens: number;
}

/** Words of `output_config.effort`. */
const WORDS: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

/** The efforts that the format and the model have, from least to most. */
export function effortsOf({ thinking }: Pick<Model, "thinking">): readonly Effort[] {
  return WORDS.filter((word) => thinking?.efforts?.includes(word) ?? true);
}

/** How much of the output a budget that stands for an effort may take, so that there is room for an answer. */
const MOST_OF_OUTPUT = 0.8;

/**
 * A wish in the words that suit the model best: a budget where it thinks by one, an effort where it does not. What does
 * not fit (`max_tokens`, a model that cannot be kept from thinking) is seen to as in any request of the format.
 */
export function encodeThinking(
  { mode, budgetTokens, effort: wanted, hidden = false }: ThinkingWish,
  { model, maxTokens, hasLostThinking }: ThinkingTarget,
  losses: Losses,
): { readonly thinking?: JsonObject; readonly effort?: string | undefined } {
  if (mode === "off" || wanted === "none") return { thinking: { type: "disabled" } };
  if (mode === undefined && budgetTokens === undefined && wanted === undefined) {
    if (hidden) losses.note({ place: "hidden", why: "hidden_alone" });
    return {};
  }
  const effort = wordFor(wanted, model, losses);
  const style = model.thinking?.style;
  const budget = budgetTokens ?? (style === "budget" ? fittingBudget(maxTokens, effort) : undefined);
  // A model that measures out its thinking may well have called without any.
  if (hasLostThinking && budget !== undefined && style !== "adaptive") {
    losses.note({ place: "thinking", why: "thinking_lost" });
    return {};
  }
  // Whether thinking is shown by itself depends on the model, and who asks for it wants to see it.
  const shown = style === "adaptive" ? "summarized" : undefined;
  const thinking = present({
    type: budget === undefined ? "adaptive" : "enabled",
    budget_tokens: budget,
    display: hidden ? "omitted" : shown,
  });
  return { thinking, effort: style === "budget" ? undefined : effort };
}

function fittingBudget(maxTokens: number, effort = "medium"): number {
  const room = Math.max(LEAST_BUDGET, Math.floor(maxTokens * MOST_OF_OUTPUT));
  return Math.min(budgetOf(effort, "messages"), room);
}

/** The nearest word that the format and the model have. */
function wordFor(wanted: string | undefined, model: Model, losses: Losses): string | undefined {
  if (wanted === undefined) return undefined;
  const nearest = nearestEffort(wanted, effortsOf(model), "lower");
  if (nearest === undefined) losses.note({ place: "thinking", why: "unknown_effort", effort: wanted });
  else if (nearest !== wanted)
    losses.note({ place: "thinking", why: "nearest_effort", effort: wanted, nearest });
  return nearest;
}
