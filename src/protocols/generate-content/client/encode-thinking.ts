import type { ThinkingWish } from "../../../core/chat.ts";
import { filled, type JsonObject, present } from "../../../core/json/json-value.ts";
import type { Effort, Model } from "../../../core/model.ts";
import type { Losses } from "../../losses.ts";
import { budgetOf, effortOf, nearestEffort } from "../../thinking.ts";

/** The efforts that models take which say nothing of their own, from least to most, and that stand for budgets. */
const EFFORTS: readonly Effort[] = ["minimal", "low", "medium", "high"];

/** The levels that a model is told, from least to most. */
function levelsOf({ thinking }: Pick<Model, "thinking">): readonly Effort[] {
  return (thinking?.efforts ?? EFFORTS).filter((effort) => effort !== "none");
}

/** The efforts of a model. One that is told a level always thinks. */
export function effortsOf(model: Model): readonly Effort[] {
  if (model.thinking?.style !== "budget") return levelsOf(model);
  return model.thinking.canBeOff === false ? EFFORTS : ["none", ...EFFORTS];
}

/** `thinkingConfig` for a wish, in the number or the level that the model is told; `undefined` where nothing is said. */
export function thinkingConfig(wish: ThinkingWish, model: Model, losses: Losses): JsonObject | undefined {
  const isOff = wish.mode === "off" || wish.effort === "none";
  const byBudget = model.thinking?.style === "budget";
  const config = {
    thinkingBudget: byBudget ? budget(wish, isOff, model, losses) : undefined,
    thinkingLevel: byBudget ? undefined : level(wish, isOff, model, losses)?.toUpperCase(),
    includeThoughts: isOff || wish.hidden === true ? undefined : true,
  };
  return filled(present(config));
}

function budget(wish: ThinkingWish, isOff: boolean, model: Model, losses: Losses): number | undefined {
  if (isOff && model.thinking?.canBeOff !== false) return 0;
  if (isOff) {
    losses.note({ place: "thinking", why: "always_thinks" });
    return budgetOf("minimal", "content");
  }
  const forEffort = wish.effort === undefined ? undefined : budgetOf(wish.effort, "content");
  return wish.budgetTokens ?? forEffort ?? (wish.mode === "auto" ? -1 : undefined);
}

function level(wish: ThinkingWish, isOff: boolean, model: Model, losses: Losses): Effort | undefined {
  const levels = levelsOf(model);
  const [least] = levels;
  if (isOff) {
    if (least === undefined) losses.note({ place: "thinking", why: "no_off" });
    else losses.note({ place: "thinking", why: "thinks_least", effort: least });
    return least;
  }
  const budgeted = wish.budgetTokens === undefined ? undefined : effortOf(wish.budgetTokens);
  const wanted = wish.effort ?? budgeted;
  if (wanted === undefined) return undefined;
  const nearest = nearestEffort(wanted, levels, "higher");
  if (nearest === undefined) losses.note({ place: "thinking", why: "no_amount" });
  else if (wish.effort === undefined) losses.note({ place: "thinking", why: "no_budget", effort: nearest });
  else if (nearest !== wanted)
    losses.note({ place: "thinking", why: "nearest_effort", effort: wanted, nearest });
  return nearest;
}
