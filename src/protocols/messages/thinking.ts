import type { Model } from "../../core/model.ts";
import type { Changes } from "../changes.ts";
import { budgetOf, effortOf } from "../thinking.ts";
import { betaName } from "./betas.ts";
import type { CountRequest } from "./request.ts";

/** The least budget that models take. */
export const LEAST_BUDGET = 1_024;

const THINKING = { field: "thinking", place: "thinking" } as const;
export const MAX_TOKENS = { field: "max_tokens", place: "maxOutputTokens" } as const;

/**
 * Puts `thinking` and `output_config.effort` in the words that the model knows. Tells whether the model will think by
 * a budget, which fixes its sampling. A model whose data says nothing is sent what the caller wrote.
 */
export function changeThinking(
  request: CountRequest,
  model: Model,
  maxTokens: number,
  changes: Changes,
): boolean {
  const { thinking } = request.body;
  const { style, canBeOff } = model.thinking ?? {};
  if (style === undefined) return thinking?.type === "enabled";
  if (style === "budget") dropEffort(request, model, changes);
  if (thinking === undefined || changes.removes(["thinking"])) return false;
  if (style === "budget") return byBudget(request, thinking, { model, maxTokens, changes });
  if (thinking.type === "disabled" && canBeOff === false) {
    changes.remove(["thinking"]);
    changes.warn({ ...THINKING, why: "always_thinks" });
  }
  if (thinking.type === "enabled") toAdaptive(request, thinking.budget_tokens, changes);
  return false;
}

type Thinking = NonNullable<CountRequest["body"]["thinking"]>;

/** A budget becomes an effort, where the caller set none. */
function toAdaptive({ body }: CountRequest, budget: Thinking["budget_tokens"], changes: Changes): void {
  changes.set(["thinking", "type"], "adaptive");
  changes.remove(["thinking", "budget_tokens"]);
  const isSaid = typeof budget !== "number" || typeof body.output_config?.effort === "string";
  const effort = isSaid ? undefined : effortOf(budget);
  if (effort !== undefined && body.output_config === undefined) changes.set(["output_config"], { effort });
  else if (effort !== undefined) changes.set(["output_config", "effort"], effort);
  changes.warn({ ...THINKING, why: "no_budget", effort });
}

function byBudget(
  request: CountRequest,
  { type, budget_tokens: budgeted }: Thinking,
  { model, maxTokens, changes }: Readonly<{ model: Model; maxTokens: number; changes: Changes }>,
): boolean {
  if (type === "disabled") return false;
  if (type === "between_tools") {
    changes.remove(["thinking"]);
    changes.warn(`thinking was left out: ${model.id} thinks by a budget, which between_tools has not`);
    return false;
  }
  const isForTurn = thinksBetweenTools(request);
  const asked = budgeted ?? budgetOf(request.body.output_config?.effort ?? "high", "messages");
  const budget = Math.max(LEAST_BUDGET, isForTurn ? asked : Math.min(asked, maxTokens - 1));
  if (budget >= maxTokens && !isForTurn) {
    changes.remove(["thinking"]);
    changes.warn({ ...THINKING, why: "no_room", bound: MAX_TOKENS, least: LEAST_BUDGET });
    return false;
  }
  if (type === "enabled" && budget === budgeted) return true;
  changes.set(["thinking", "type"], "enabled");
  changes.set(["thinking", "budget_tokens"], budget);
  changes.warn({ ...THINKING, why: "budget_given", budget });
  return true;
}

/** With this preview a budget is for the whole turn, and may be more than `max_tokens`. */
function thinksBetweenTools({ betas }: CountRequest): boolean {
  return betas.some((value) => betaName(value) === "interleaved-thinking");
}

function dropEffort({ body: { output_config: config } }: CountRequest, model: Model, changes: Changes): void {
  if (typeof config?.effort !== "string" || changes.removes(["output_config"])) return;
  changes.remove(Object.keys(config).length === 1 ? ["output_config"] : ["output_config", "effort"]);
  changes.warn(`output_config.effort was left out: ${model.id} does not take it`);
}
