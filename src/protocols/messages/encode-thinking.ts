import type { ThinkingWish } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Effort, Model } from "../../core/model.ts";
import type { Losses } from "../losses.ts";
import { budgetOf, nearestEffort } from "../thinking.ts";
import { LEAST_BUDGET } from "./thinking.ts";

/** What a caller wishes of thinking, in the format's two members. */
export interface EncodedThinking {
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

/** What a wish is said for. */
export interface ThinkingTarget {
  readonly model: Model;
  readonly maxTokens: number;
  /** The answer whose tools are being run came back without its thinking. */
  readonly hasLostThinking: boolean;
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
  wish: ThinkingWish | undefined,
  target: ThinkingTarget,
  losses: Losses,
): EncodedThinking {
  if (wish === undefined) return {};
  if (wish.mode === "off" || wish.effort === "none") return { thinking: { type: "disabled" } };
  if (wish.mode === undefined && wish.budgetTokens === undefined && wish.effort === undefined) {
    if (wish.hidden === true) losses.note({ place: "hidden", why: "hidden_alone" });
    return {};
  }
  const effort = wordFor(wish.effort, target.model, losses);
  const byBudget = target.model.thinking?.style === "budget";
  const encoded = byBudget ? inBudget(wish, effort, target.maxTokens) : inEffort(wish, effort, target.model);
  // A model that measures out its thinking may well have called without any.
  const mustBegin = encoded.thinking?.type === "enabled" && target.model.thinking?.style !== "adaptive";
  if (!mustBegin || !target.hasLostThinking) return encoded;
  losses.note({ place: "thinking", why: "thinking_lost" });
  return {};
}

function inBudget(wish: ThinkingWish, effort: string | undefined, maxTokens: number): EncodedThinking {
  const room = Math.max(LEAST_BUDGET, Math.floor(maxTokens * MOST_OF_OUTPUT));
  const budget = wish.budgetTokens ?? Math.min(budgetOf(effort ?? "medium", "messages"), room);
  const display = wish.hidden === true ? { display: "omitted" } : {};
  return { thinking: { type: "enabled", budget_tokens: budget, ...display } };
}

function inEffort(wish: ThinkingWish, effort: string | undefined, model: Model): EncodedThinking {
  // Whether thinking is shown by itself depends on the model, and who asks for it wants to see it.
  const shown = model.thinking?.style === "adaptive" ? { display: "summarized" } : {};
  const display = wish.hidden === true ? { display: "omitted" } : shown;
  const type =
    wish.budgetTokens === undefined
      ? { type: "adaptive" }
      : { type: "enabled", budget_tokens: wish.budgetTokens };
  return { thinking: { ...type, ...display }, ...(effort === undefined ? {} : { effort }) };
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
