import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { fieldsAt } from "../../catalog/parameter-tables/field.ts";
import type { ThinkingWish } from "../../core/chat.ts";
import { isJsonObject, type JsonObject, present } from "../../core/json/json-value.ts";
import { EFFORTS, type Effort, type ThinkingFacts } from "../../core/model.ts";
import type { ThinkingFields } from "../chat-dialect.ts";
import { budgetOf, effortOf, nearestEffort } from "../thinking.ts";
import type { Warn } from "../warnings.ts";

export const THINKING_FIELDS = fieldsAt(CHAT, "thinking");

/**
 * Reads the three fields together, the reference's own word first; tells `warn` where two of them differ. `undefined`:
 * nothing was said.
 */
export function readWish(body: Readonly<JsonObject>, warn: Warn = () => {}): ThinkingWish | undefined {
  const reasoning = isJsonObject(body.reasoning) ? body.reasoning : {};
  const thinking = isJsonObject(body.thinking) ? body.thinking : {};
  const words = [body.reasoning_effort, reasoning.effort].filter((word) => typeof word === "string");
  if (words.length > 1 && words[0] !== words[1])
    warn("reasoning was left out: reasoning_effort says otherwise");
  const switched = [reasoning.enabled, isOn(thinking.type)].find((on) => typeof on === "boolean");
  const most = [reasoning.max_tokens, thinking.budget_tokens].find((budget) => typeof budget === "number");
  const mode = thinking.type === "adaptive" ? "auto" : "on";
  const isOff = words[0] === "none" || switched === false;
  const wish = present({
    mode: isOff ? "off" : switched === true ? mode : undefined,
    effort: isOff ? undefined : words[0],
    budgetTokens: most,
    hidden: reasoning.exclude === true ? true : undefined,
  } as const);
  return Object.keys(wish).length === 0 ? undefined : wish;
}

/**
 * The field that tells most of a wish: what switches thinking off, else its budget, else the first that is there.
 * `undefined`: nothing was said.
 */
export function wishField(body: Readonly<JsonObject>): string | undefined {
  const reasoning = isJsonObject(body.reasoning) ? body.reasoning : {};
  const thinking = isJsonObject(body.thinking) ? body.thinking : {};
  if (body.reasoning_effort === "none") return "reasoning_effort";
  if (reasoning.effort === "none" || reasoning.enabled === false) return "reasoning";
  if (isOn(thinking.type) === false) return "thinking";
  if (typeof reasoning.max_tokens === "number") return "reasoning";
  if (typeof thinking.budget_tokens === "number") return "thinking";
  return THINKING_FIELDS.find((name) => body[name] !== undefined && body[name] !== null);
}

function isOn(type: unknown): boolean | undefined {
  return type === "disabled" ? false : type === "enabled" || type === "adaptive" ? true : undefined;
}

/** What each word is called inside a vendor's `reasoning`. */
const IN_REASONING = { effort: "effort", toggle: "enabled", budget: "max_tokens" } as const;

/**
 * Says a wish with the fields that the vendor has, as far as the model takes them: their values by name. `warn` is told
 * what could not be said, or was said otherwise. A router that has `reasoning` as an object finds the model's own words
 * itself, so it is told what the caller said.
 */
export function sayThinking(
  wish: ThinkingWish | undefined,
  words: ThinkingFields,
  facts: ThinkingFacts | undefined,
  warn: Warn = () => {},
): JsonObject {
  const { mode, effort: word, budgetTokens, hidden }: ThinkingWish = wish ?? {};
  const model = words.effort === "reasoning" ? undefined : facts;
  const fields: JsonObject = {};
  const say = (kind: keyof ThinkingFields, value: unknown): void => {
    const name = words[kind];
    if (name === "reasoning")
      fields.reasoning = { ...(fields.reasoning as object), [IN_REASONING[kind]]: value };
    else if (name === "thinking") fields.thinking = { type: value === true ? "enabled" : "disabled" };
    else if (name !== undefined) fields[name] = value;
  };
  const toggle = model?.canBeOff === false ? undefined : words.toggle;
  const efforts = model?.efforts;
  const effort = efforts?.length === 0 ? undefined : words.effort;
  if (mode === "off") {
    if (toggle !== undefined) say("toggle", false);
    else if (effort !== undefined && (efforts ?? EFFORTS).includes("none")) say("effort", "none");
    else warn("thinking was not switched off: this model cannot be told to");
    return fields;
  }
  const wanted = word ?? (budgetTokens === undefined ? undefined : effortForBudget(budgetTokens, efforts));
  const asked = mode !== undefined || wanted !== undefined;
  if (asked && toggle !== undefined && (mode !== undefined || toggle === "enable_thinking"))
    say("toggle", true);
  if (words.budget !== undefined && (budgetTokens !== undefined || effort === undefined)) {
    const budget = budgetTokens ?? (wanted === undefined ? Infinity : budgetOf(wanted, "chat"));
    if (budget !== Infinity) say("budget", budget);
  } else if (wanted !== undefined && effort !== undefined) {
    const nearest = effortFor(wanted, efforts);
    if (nearest !== wanted) warn(`the effort ${wanted} became ${nearest}: this model has no other`);
    say("effort", nearest);
  } else if (wanted !== undefined) warn("how much to think was left out: this model cannot be told");
  else if (asked && toggle === undefined) warn("thinking was left out: this model decides by itself");
  if (hidden === true && words.toggle === "reasoning")
    fields.reasoning = { ...(fields.reasoning as object), exclude: true };
  else if (hidden === true) warn("reasoning.exclude was left out: this model's provider has no such field");
  return fields;
}

/** Above the highest of ours, the most that the model has. */
function effortForBudget(budget: number, efforts: readonly Effort[] | undefined): Effort {
  const effort = effortOf(budget);
  if (effort !== "max") return effort;
  return efforts?.findLast((most) => most === "max" || most === "xhigh") ?? "high";
}

/** The effort itself where the model takes it (or takes what we do not know), else the nearest. */
function effortFor(wanted: string, efforts: readonly Effort[] | undefined): string {
  if (efforts === undefined) return wanted;
  // Asked to think, it is not switched off.
  const thinking = efforts.filter((effort) => effort !== "none");
  return nearestEffort(wanted, thinking, "higher") ?? wanted;
}
