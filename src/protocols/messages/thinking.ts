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
  if (model.thinking?.style === undefined) return thinking?.type === "enabled";
  const turn: Turn = { request, model, maxTokens, changes };
  if (model.thinking.style === "budget") dropEffort(turn);
  if (thinking === undefined || changes.removes(["thinking"])) return false;
  if (model.thinking.style === "budget") return byBudget(turn, thinking);
  byEffort(turn, thinking);
  return false;
}

interface Turn {
  readonly request: CountRequest;
  readonly model: Model;
  readonly maxTokens: number;
  readonly changes: Changes;
}

type Thinking = NonNullable<CountRequest["body"]["thinking"]>;

function byEffort({ request, model, changes }: Turn, { type, budget_tokens: budget }: Thinking): void {
  if (type === "disabled" && model.thinking?.canBeOff === false) {
    changes.remove(["thinking"]);
    changes.warn({ ...THINKING, why: "always_thinks" });
  }
  if (type !== "enabled") return;
  const effort = effortOf(budget ?? 0);
  changes.set(["thinking", "type"], "adaptive");
  changes.remove(["thinking", "budget_tokens"]);
  const isSet = typeof budget === "number" && setEffort(request, changes, effort);
  changes.warn({ ...THINKING, why: "no_budget", effort: isSet ? effort : undefined });
}

/** Sets the effort where the caller set none; tells whether it did. */
function setEffort({ body }: CountRequest, changes: Changes, effort: string): boolean {
  if (typeof body.output_config?.effort === "string") return false;
  if (body.output_config === undefined) changes.set(["output_config"], { effort });
  else changes.set(["output_config", "effort"], effort);
  return true;
}

function byBudget({ request, model, maxTokens, changes }: Turn, thinking: Thinking): boolean {
  if (thinking.type === "disabled") return false;
  if (thinking.type === "between_tools") {
    changes.remove(["thinking"]);
    changes.warn(`thinking was left out: ${model.id} thinks by a budget, which between_tools has not`);
    return false;
  }
  const isForTurn = thinksBetweenTools(request);
  const asked = thinking.budget_tokens ?? budgetOf(request.body.output_config?.effort ?? "high", "messages");
  const budget = Math.max(LEAST_BUDGET, isForTurn ? asked : Math.min(asked, maxTokens - 1));
  if (budget >= maxTokens && !isForTurn) {
    changes.remove(["thinking"]);
    changes.warn({ ...THINKING, why: "no_room", bound: MAX_TOKENS, least: LEAST_BUDGET });
    return false;
  }
  if (thinking.type === "enabled" && budget === thinking.budget_tokens) return true;
  changes.set(["thinking", "type"], "enabled");
  changes.set(["thinking", "budget_tokens"], budget);
  changes.warn({ ...THINKING, why: "budget_given", budget });
  return true;
}

/** With this preview a budget is for the whole turn, and may be more than `max_tokens`. */
function thinksBetweenTools({ betas }: CountRequest): boolean {
  return betas.some((value) => betaName(value) === "interleaved-thinking");
}

function dropEffort({ request, model, changes }: Turn): void {
  const { output_config: config } = request.body;
  if (typeof config?.effort !== "string" || changes.removes(["output_config"])) return;
  changes.remove(Object.keys(config).length === 1 ? ["output_config"] : ["output_config", "effort"]);
  changes.warn(`output_config.effort was left out: ${model.id} does not take it`);
}
