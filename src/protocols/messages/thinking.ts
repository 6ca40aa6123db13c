import type { Model } from "../../core/model.ts";
import type { Member } from "../../core/json-scan.ts";
import { type MemberChanges, objectEdits } from "../../core/json-splice.ts";
import { membersAt } from "../request-json.ts";
import { addWithin, type Rewrite } from "../rewrite.ts";
import { betaName } from "./betas.ts";
import type { CountRequest } from "./request.ts";

/** The least budget that models take. */
export const LEAST_BUDGET = 1_024;

/** What a budget means where thinking is asked for by effort, and the other way round. */
const EFFORTS = [
  { below: 4_000, effort: "low", budget: 2_048 },
  { below: 16_000, effort: "medium", budget: 8_192 },
  { below: 48_000, effort: "high", budget: 24_576 },
  { below: Infinity, effort: "max", budget: 48_000 },
] as const;

/** The budget that stands for an effort; the largest for one that is not known. */
export function budgetOf(effort: unknown): number {
  return (EFFORTS.find((known) => known.effort === effort) ?? EFFORTS[3]).budget;
}

/**
 * Puts `thinking` and `output_config.effort` in the words that the model knows. Tells whether the model will think by
 * a budget, which fixes its sampling. A model whose data says nothing is sent what the caller wrote.
 */
export function rewriteThinking(
  request: CountRequest,
  model: Model,
  maxTokens: number,
  rewrite: Rewrite,
): boolean {
  const at = request.json.byName.get("thinking");
  const { thinking } = request.body;
  if (model.thinking?.style === undefined) return thinking?.type === "enabled";
  const turn: Turn = { request, model, maxTokens, rewrite };
  if (model.thinking.style === "budget") dropEffort(turn);
  if (at === undefined || thinking === undefined || rewrite.remove.has(at)) return false;
  if (model.thinking.style === "budget") return byBudget(turn, at);
  byEffort(turn, at);
  return false;
}

interface Turn {
  readonly request: CountRequest;
  readonly model: Model;
  readonly maxTokens: number;
  readonly rewrite: Rewrite;
}

function byEffort({ request, model, rewrite }: Turn, at: Member): void {
  const { thinking } = request.body;
  if (thinking?.type === "disabled" && model.thinking?.canBeOff === false) {
    rewrite.remove.add(at);
    rewrite.warnings.push(`thinking was left out: ${model.id} cannot be kept from thinking`);
  }
  if (thinking?.type !== "enabled") return;
  const budget = thinking.budget_tokens;
  const effort = EFFORTS.find(({ below }) => (budget ?? 0) < below)?.effort ?? "max";
  edit(request, rewrite, at, (byName) => ({
    ...setMember(byName, "type", '"adaptive"'),
    remove: new Set([...byName].filter(([name]) => name === "budget_tokens").map(([, found]) => found)),
  }));
  const told = typeof budget === "number" ? setEffort(request, rewrite, effort) : "";
  rewrite.warnings.push(`thinking was changed to adaptive${told}: ${model.id} takes no budget`);
}

/** Sets the effort where the caller set none; tells so for a warning. */
function setEffort(request: CountRequest, rewrite: Rewrite, effort: string): string {
  const { json, body } = request;
  const at = json.byName.get("output_config");
  if (typeof body.output_config?.effort === "string") return "";
  const told = ` with effort ${effort}`;
  if (at === undefined) rewrite.append.push(`"output_config":{"effort":"${effort}"}`);
  else if (body.output_config === undefined) rewrite.replace.set(at, `{"effort":"${effort}"}`);
  else edit(request, rewrite, at, (byName) => setMember(byName, "effort", `"${effort}"`));
  return told;
}

function byBudget(turn: Turn, at: Member): boolean {
  const { request, model, rewrite } = turn;
  const { thinking, output_config } = request.body;
  if (thinking === undefined || thinking.type === "disabled") return false;
  if (thinking.type === "between_tools") {
    rewrite.remove.add(at);
    rewrite.warnings.push(
      `thinking was left out: ${model.id} thinks by a budget, which between_tools has not`,
    );
    return false;
  }
  const asked = thinking.budget_tokens ?? budgetOf(output_config?.effort ?? "high");
  const budget = Math.max(
    LEAST_BUDGET,
    thinksBetweenTools(request) ? asked : Math.min(asked, turn.maxTokens - 1),
  );
  if (budget >= turn.maxTokens && !thinksBetweenTools(request)) {
    rewrite.remove.add(at);
    rewrite.warnings.push(`thinking was left out: max_tokens leaves no room for a budget of ${LEAST_BUDGET}`);
    return false;
  }
  if (thinking.type === "enabled" && budget === thinking.budget_tokens) return true;
  edit(request, rewrite, at, (byName) => {
    const type = setMember(byName, "type", '"enabled"');
    const set = setMember(byName, "budget_tokens", String(budget));
    return {
      replace: new Map([...(type.replace ?? []), ...(set.replace ?? [])]),
      ...(set.append === undefined ? {} : { append: set.append }),
    };
  });
  rewrite.warnings.push(`thinking was given a budget of ${budget} tokens: ${model.id} needs one that fits`);
  return true;
}

/** With this preview a budget is for the whole turn, and may be more than `max_tokens`. */
function thinksBetweenTools({ betas }: CountRequest): boolean {
  return betas.some((value) => betaName(value) === "interleaved-thinking");
}

function dropEffort({ request, model, rewrite }: Turn): void {
  const { json, body } = request;
  const at = json.byName.get("output_config");
  if (at === undefined || typeof body.output_config?.effort !== "string" || rewrite.remove.has(at)) return;
  if (Object.keys(body.output_config).length === 1) rewrite.remove.add(at);
  else
    edit(request, rewrite, at, (byName) => ({
      remove: new Set([...byName].filter(([name]) => name === "effort").map(([, found]) => found)),
    }));
  rewrite.warnings.push(`output_config.effort was left out: ${model.id} does not take it`);
}

/** Changes members of the object at `at`; `choose` finds them by name. */
function edit(
  { json }: CountRequest,
  rewrite: Rewrite,
  at: Member,
  choose: (byName: ReadonlyMap<string, Member>) => MemberChanges,
): void {
  const { members, byName } = membersAt(json, at.valueStart, at.valueEnd);
  addWithin(rewrite, objectEdits(json.bytes, members, choose(byName), at.valueStart));
}

/** A new value for a member, or the member itself where it is not there yet. */
function setMember(byName: ReadonlyMap<string, Member>, name: string, text: string): MemberChanges {
  const found = byName.get(name);
  return found === undefined ? { append: [`"${name}":${text}`] } : { replace: new Map([[found, text]]) };
}
