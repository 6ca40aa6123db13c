import type { ThinkingWish } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { EFFORTS, type Effort, type Model } from "../../core/model.ts";
import type { Losses } from "../losses.ts";

/** Levels of thinking that models without a word of their own about it take, from least to most. */
const LEVELS: readonly Effort[] = ["minimal", "low", "medium", "high"];

/** Thinking tokens below which a level is meant. */
const BUDGETS: readonly (readonly [number, Effort])[] = [
  [4_000, "low"],
  [16_000, "medium"],
];

/** The same backwards, for models that are told a budget. */
const TOKENS: Readonly<Record<string, number>> = { minimal: 512, low: 1_024, medium: 8_192 };
const MOST_TOKENS = 24_576;

/** The efforts that stand for a budget of their own. */
export const budgetEfforts: readonly Effort[] = ["minimal", "low", "medium", "high"];

/** The levels that a model is told, from least to most. */
export function levelsOf({ thinking }: Pick<Model, "thinking">): readonly Effort[] {
  return (thinking?.efforts ?? LEVELS).filter((effort) => effort !== "none");
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
    return { thinkingBudget: TOKENS.minimal };
  }
  if (wish.budgetTokens !== undefined) return { thinkingBudget: wish.budgetTokens };
  if (wish.effort !== undefined) return { thinkingBudget: TOKENS[wish.effort] ?? MOST_TOKENS };
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
  const wanted = wish.effort ?? wordFor(wish.budgetTokens);
  if (wanted === undefined) return {};
  const nearest = nearestOf(wanted, levels);
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

function wordFor(budgetTokens: number | undefined): Effort | undefined {
  if (budgetTokens === undefined) return undefined;
  return BUDGETS.find(([below]) => budgetTokens < below)?.[1] ?? "high";
}

/** The level that is nearest to a word; of two the higher. `undefined` for a word that nobody knows. */
function nearestOf(wanted: string, levels: readonly Effort[]): Effort | undefined {
  const words: readonly string[] = EFFORTS;
  const place = words.indexOf(wanted);
  if (place === -1) return undefined;
  const distance = (effort: Effort): number => Math.abs(EFFORTS.indexOf(effort) - place);
  return levels.toSorted((a, b) => distance(a) - distance(b) || EFFORTS.indexOf(b) - EFFORTS.indexOf(a))[0];
}
