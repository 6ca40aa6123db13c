import type { ThinkingWish } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Effort, Model } from "../../core/model.ts";
import type { Losses } from "../losses.ts";
import { budgetOf, effortOf, nearestEffort } from "../thinking.ts";

/** The efforts that models take which say nothing of their own, from least to most, and that stand for budgets. */
export const EFFORTS: readonly Effort[] = ["minimal", "low", "medium", "high"];

/** The levels that a model is told, from least to most. */
export function levelsOf({ thinking }: Pick<Model, "thinking">): readonly Effort[] {
  return (thinking?.efforts ?? EFFORTS).filter((effort) => effort !== "none");
}

/** `thinkingConfig` for a wish, in the number or the level that the model is told; `undefined` where nothing is said. */
export function thinkingConfig(wish: ThinkingWish, model: Model, losses: Losses): JsonObject | undefined {
  const off = wish.mode === "off" || wish.effort === "none";
  const amount =
    model.thinking?.style === "budget" ? budget(wish, off, model, losses) : level(wish, off, model, losses);
  const shown = off || wish.hidden === true ? {} : { includeThoughts: true };
  const config = { ...amount, ...shown };
  return Object.keys(config).length === 0 ? undefined : config;
}

function budget(wish: ThinkingWish, off: boolean, model: Model, losses: Losses): JsonObject {
  if (off && model.thinking?.canBeOff !== false) return { thinkingBudget: 0 };
  if (off) {
    losses.note({ place: "thinking", why: "always_thinks" });
    return { thinkingBudget: budgetOf("minimal", "content") };
  }
  if (wish.budgetTokens !== undefined) return { thinkingBudget: wish.budgetTokens };
  if (wish.effort !== undefined) return { thinkingBudget: budgetOf(wish.effort, "content") };
  return wish.mode === "auto" ? { thinkingBudget: -1 } : {};
}

function level(wish: ThinkingWish, off: boolean, model: Model, losses: Losses): JsonObject {
  const levels = levelsOf(model);
  const [least] = levels;
  if (off) {
    if (least === undefined) losses.note({ place: "thinking", why: "no_off" });
    else losses.note({ place: "thinking", why: "thinks_least", effort: least });
    return least === undefined ? {} : said(least);
  }
  const budgeted = wish.budgetTokens === undefined ? undefined : effortOf(wish.budgetTokens);
  const wanted = wish.effort ?? budgeted;
  if (wanted === undefined) return {};
  const nearest = nearestEffort(wanted, levels, "higher");
  if (nearest === undefined) {
    losses.note({ place: "thinking", why: "no_amount" });
    return {};
  }
  if (wish.effort === undefined) losses.note({ place: "thinking", why: "no_budget", effort: nearest });
  else if (nearest !== wanted)
    losses.note({ place: "thinking", why: "nearest_effort", effort: wanted, nearest });
  return said(nearest);
}

function said(level: Effort): JsonObject {
  return { thinkingLevel: level.toUpperCase() };
}
