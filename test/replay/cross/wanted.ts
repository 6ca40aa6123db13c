import { expect } from "bun:test";
import type { Json } from "../wire-json.ts";
import type { Item, Meaning, MeantTurn } from "./meaning.ts";

/** A model that a chat is sent to, in the facts that decide how it is asked. */
export interface Target {
  readonly id: "claude/opus" | "claude/haiku" | "gemini/flash" | "gemini/old";
  readonly vendor: "claude" | "gemini";
}

/** The models that every chat is sent to. */
export const TARGETS: readonly Target[] = [
  { id: "claude/opus", vendor: "claude" },
  { id: "claude/haiku", vendor: "claude" },
  { id: "gemini/flash", vendor: "gemini" },
  { id: "gemini/old", vendor: "gemini" },
];

/** What a model must be sent, and the fields that the caller must be told about. */
export interface Wanted {
  readonly meaning: Meaning;
  readonly told: readonly string[];
}

/** A number of tokens that is ours to choose. */
const SOME: Json = expect.any(Number);

/** Fields of a chat that say nothing to the model and are left out of any other format, each with a warning. */
const HINTS = ["logit_bias", "reasoning_signature"];

/** What Claude and Gemini must understand of a chat that means `meant`: all of it, but for what they cannot be told. */
export function wantedOf(meant: Meaning, body: Json, { id, vendor }: Target): Wanted {
  const told = HINTS.filter((name) => JSON.stringify(body).includes(`"${name}":`));
  body.messages.forEach(({ content, tool_calls: calls }: Json, i: number) => {
    if ((content ?? "") === "" && calls === undefined) told.push(`messages[${i}]`);
  });
  const meaning = structuredClone(meant);
  if (vendor === "claude") forClaude(meaning, told, id === "claude/opus");
  else forGemini(meaning, told, id === "gemini/old");
  return { meaning, told };
}

/** Leaves a field out that the format does not have. */
function leaveOut(meaning: Meaning, told: string[], field: keyof Meaning, name: string): void {
  if (meaning[field] === undefined) return;
  told.push(name);
  Object.assign(meaning, { [field]: undefined });
}

function forClaude(meaning: Meaning, told: string[], isAdaptive: boolean): void {
  leaveOut(meaning, told, "presence", "presence_penalty");
  leaveOut(meaning, told, "frequency", "frequency_penalty");
  leaveOut(meaning, told, "seed", "seed");
  if (isAdaptive) {
    leaveOut(meaning, told, "temperature", "temperature");
    leaveOut(meaning, told, "topP", "top_p");
  }
  // The format wants a bound: without one of the caller's it is the most that the model gives.
  meaning.most ??= 128_000;
  if (meaning.thinking !== undefined) thinkAsClaude(meaning, told, isAdaptive);
  if (meaning.parallel === false) meaning.choice ??= "auto";
  if (meaning.form === "json") {
    meaning.system.push({ is: "text", text: expect.stringMatching(/JSON object/) });
    meaning.form = undefined;
    told.push("response_format");
  }
}

function thinkAsClaude(meaning: Meaning, told: string[], isAdaptive: boolean): void {
  const effort = meaning.thinking?.effort;
  if (effort === "minimal") told.push("minimal became low");
  // A model that always begins with a thought refuses a call of its own without one, and another model made this one.
  if (!isAdaptive && meaning.turns.at(-1)?.items.some(({ is }) => is === "result") === true) {
    told.push("reasoning");
    meaning.thinking = undefined;
    return;
  }
  meaning.thinking = isAdaptive
    ? { on: true, effort: effort === "minimal" ? "low" : String(effort), shown: true }
    : { on: true, budget: SOME, shown: true };
  if (meaning.choice !== "required" && meaning.choice?.tool === undefined) return;
  // No call can be forced while it thinks.
  meaning.choice = "auto";
  told.push("tool_choice");
}

const PLACEHOLDER = "skip_thought_signature_validator";

function forGemini(meaning: Meaning, told: string[], byBudget: boolean): void {
  leaveOut(meaning, told, "parallel", "parallel_tool_calls");
  leaveOut(meaning, told, "user", "user");
  if (meaning.tools.some(({ strict }) => strict)) told.push("strict");
  meaning.tools = meaning.tools.map((tool) => Object.assign({}, tool, { strict: false }));
  if (meaning.thinking !== undefined && byBudget) meaning.thinking = { on: true, budget: SOME, shown: true };
  if (unmark([...meaning.system, ...meaning.turns.flatMap(({ items }) => items)])) told.push("cache_control");
  signFirstCalls(meaning.turns, told);
}

/** Takes the marks of prompt caches away. */
function unmark(items: readonly Item[]): boolean {
  const marked = items.filter((item) => item.cache !== undefined);
  for (const item of marked) delete (item as Json).cache;
  return marked.length > 0;
}

/** A call that another model made has no signature: since a person last spoke the first of each step needs one. */
function signFirstCalls(turns: readonly MeantTurn[], told: string[]): void {
  const spoke = turns.findLastIndex(
    ({ role, items }) => role === "user" && items.every(({ is }) => is !== "result"),
  );
  for (const { items } of turns.slice(spoke + 1)) {
    const call = items.find(({ is }) => is === "call");
    if (call === undefined) continue;
    (call as Json).signature = PLACEHOLDER;
    told.push("thought_signature");
  }
}

/** Keywords that Claude refuses in a schema which binds it; they are told in the description instead. */
const UNBOUND = ["minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern"];

/** Fails unless `sent` is the schema `meant`, as a format that refuses bounds can say it; gives those it tells in words. */
export function expectSchema(sent: Json, meant: Json): readonly string[] {
  if (typeof meant !== "object" || meant === null || Array.isArray(meant)) {
    expect(sent).toEqual(meant);
    return [];
  }
  const moved = UNBOUND.filter((name) => name in meant && !(name in sent));
  for (const name of moved) expect(sent.description).toContain(`${name}: ${JSON.stringify(meant[name])}`);
  const kept = Object.keys(meant).filter((name) => !moved.includes(name));
  const added = Object.keys(sent).filter((name) => !(name in meant) && name !== "description");
  // An object that is bound is a closed one.
  expect(added.filter((name) => name !== "additionalProperties" || sent[name] !== false)).toEqual([]);
  return [...moved, ...kept.flatMap((name) => expectSchema(sent[name], meant[name]))];
}
