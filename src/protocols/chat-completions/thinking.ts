import { CHAT } from "../../catalog/parameter-tables/chat-completions.ts";
import { fieldsAt } from "../../catalog/parameter-tables/field.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { EFFORTS, type Effort, type ThinkingFacts } from "../../core/model.ts";
import type { ThinkingFields } from "../chat-dialect.ts";

/** What a caller says of thinking, in whichever of the interface's three fields. */
export interface ThinkingWish {
  /** Switched on or off by name. */
  readonly on?: boolean;
  readonly effort?: string;
  readonly budget?: number;
  /** Whether the reasoning shall not be shown. */
  readonly hidden: boolean;
}

/** A wish in a vendor's own words. */
export interface SaidThinking {
  /** Values by field. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** What could not be said, or was said otherwise, as sentences for warnings. */
  readonly warnings: readonly string[];
}

/** The interface's fields about thinking. */
export const THINKING_FIELDS = fieldsAt(CHAT, "thinking");

/** Reads the three fields together, the reference's own word first. `undefined`: nothing was said. */
export function readWish(body: Readonly<Record<string, unknown>>): ThinkingWish | undefined {
  const reasoning = isJsonObject(body.reasoning) ? body.reasoning : undefined;
  const thinking = isJsonObject(body.thinking) ? body.thinking : undefined;
  const word = [body.reasoning_effort, reasoning?.effort].find((effort) => typeof effort === "string");
  if (reasoning === undefined && thinking === undefined && word === undefined) return undefined;
  const switched = [reasoning?.enabled, isOn(thinking?.type)].find((on) => typeof on === "boolean");
  const on = word === "none" ? false : switched;
  const budget = [reasoning?.max_tokens, thinking?.budget_tokens].find((most) => typeof most === "number");
  return {
    ...(typeof on === "boolean" ? { on } : {}),
    ...(typeof word === "string" && word !== "none" ? { effort: word } : {}),
    ...(typeof budget === "number" ? { budget } : {}),
    hidden: reasoning?.exclude === true,
  };
}

function isOn(type: unknown): boolean | undefined {
  return type === "disabled" ? false : type === "enabled" || type === "adaptive" ? true : undefined;
}

/**
 * Says a wish with the fields that the vendor has, as far as the model takes them. A router that has `reasoning` as an
 * object finds the model's own words itself, so it is told what the caller said.
 */
export function sayThinking(
  wish: ThinkingWish,
  words: ThinkingFields,
  facts: ThinkingFacts | undefined,
): SaidThinking {
  const model = words.effort === "reasoning" ? undefined : facts;
  const fields: Record<string, unknown> = {};
  const warnings: string[] = [];
  const toggle = model?.canBeOff === false ? undefined : words.toggle;
  const efforts = model?.efforts;
  const effort = efforts?.length === 0 ? undefined : words.effort;
  if (wish.on === false) {
    if (toggle !== undefined) put(fields, toggle, switched(toggle, false));
    else if (effort !== undefined && (efforts ?? EFFORTS).includes("none"))
      put(fields, effort, effortOf(effort, "none"));
    else warnings.push("thinking was not switched off: this model cannot be told to");
    return { fields, warnings };
  }
  const wanted =
    wish.effort ?? (wish.budget === undefined ? undefined : effortForBudget(wish.budget, efforts));
  const asked = wish.on === true || wanted !== undefined;
  if (asked && toggle !== undefined && (wish.on === true || toggle === "enable_thinking"))
    put(fields, toggle, switched(toggle, true));
  if (words.budget !== undefined && (wish.budget !== undefined || effort === undefined)) {
    const budget = wish.budget ?? budgetForEffort(wanted);
    if (budget !== undefined)
      put(fields, words.budget, words.budget === "reasoning" ? { max_tokens: budget } : budget);
  } else if (wanted !== undefined && effort !== undefined) {
    const nearest = nearestEffort(wanted, efforts);
    if (nearest !== wanted)
      warnings.push(`the effort ${printable(wanted)} became ${nearest}: this model has no other`);
    put(fields, effort, effortOf(effort, nearest));
  } else if (wanted !== undefined) warnings.push("how much to think was left out: this model cannot be told");
  else if (asked && toggle === undefined)
    warnings.push("thinking was left out: this model decides by itself");
  if (wish.hidden && words.toggle === "reasoning") put(fields, "reasoning", { exclude: true });
  else if (wish.hidden)
    warnings.push("reasoning.exclude was left out: this model's provider has no such field");
  return { fields, warnings };
}

/** One field may hold several of the things that are said. */
function put(fields: Record<string, unknown>, name: string, value: unknown): void {
  const known = fields[name];
  fields[name] = isJsonObject(known) && isJsonObject(value) ? { ...known, ...value } : value;
}

function switched(toggle: NonNullable<ThinkingFields["toggle"]>, on: boolean): boolean | JsonObject {
  if (toggle === "enable_thinking") return on;
  return toggle === "thinking" ? { type: on ? "enabled" : "disabled" } : { enabled: on };
}

function effortOf(field: NonNullable<ThinkingFields["effort"]>, effort: string): string | JsonObject {
  return field === "reasoning" ? { effort } : effort;
}

/** Thinking tokens below which an effort is meant; above the last it is the most that the model has. */
const BUDGETS: readonly (readonly [number, Effort])[] = [
  [4_000, "low"],
  [16_000, "medium"],
  [48_000, "high"],
];

function effortForBudget(budget: number, efforts: readonly Effort[] | undefined): Effort {
  const found = BUDGETS.find(([below]) => budget < below)?.[1];
  return found ?? efforts?.findLast((effort) => effort === "max" || effort === "xhigh") ?? "high";
}

/** The same backwards; without a number the model thinks as much as it can. */
function budgetForEffort(effort: string | undefined): number | undefined {
  switch (effort) {
    case "minimal":
      return 1_024;
    case "low":
      return 3_072;
    case "medium":
      return 12_288;
    case "high":
      return 32_768;
    default:
      return undefined;
  }
}

/** The effort itself where the model takes it (or takes what we do not know), else the nearest; of two the higher. */
function nearestEffort(wanted: string, efforts: readonly Effort[] | undefined): string {
  if (efforts === undefined) return wanted;
  const known: readonly string[] = EFFORTS;
  const place = known.indexOf(wanted);
  const words: readonly string[] = efforts;
  if (place === -1 || words.includes(wanted)) return wanted;
  const distance = (effort: string): number => Math.abs(known.indexOf(effort) - place);
  // Asked to think, it is not switched off.
  return (
    efforts
      .filter((effort) => effort !== "none")
      .toSorted((a, b) => distance(a) - distance(b) || known.indexOf(b) - known.indexOf(a))[0] ?? wanted
  );
}

function printable(word: string): string {
  return word.slice(0, 32).replace(/[^a-z0-9_-]/gi, "?");
}
