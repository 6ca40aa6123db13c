import type { ChatRequest, ThinkingWish } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { EFFORTS, type Effort, type Model } from "../../core/model.ts";
import type { RelayTarget } from "../protocol.ts";
import { invalid } from "../request-json.ts";
import type { Warn } from "./warn.ts";

const MOST_STOPS = 5;
const MOST_CANDIDATES = 8;

/** `generationConfig`; without members where nothing was said. Throws a 400 for more stops or answers than there can be. */
export function encodeConfig(chat: ChatRequest, target: RelayTarget, warn: Warn): JsonObject {
  const { model } = target;
  checkCounts(chat, model);
  return defined({
    maxOutputTokens: boundOf(chat, model, warn),
    temperature: chat.temperature,
    topP: chat.topP,
    presencePenalty: chat.presencePenalty,
    frequencyPenalty: chat.frequencyPenalty,
    seed: seedOf(chat, warn),
    stopSequences: chat.stop.length === 0 ? undefined : chat.stop,
    candidateCount: chat.choices === 1 ? undefined : chat.choices,
    responseLogprobs: chat.logprobs === undefined ? undefined : true,
    logprobs: chat.logprobs === 0 ? undefined : chat.logprobs,
    thinkingConfig: chat.thinking === undefined ? undefined : thinkingConfig(chat.thinking, model, warn),
    ...output(chat, model, warn),
    ...format(chat),
  });
}

function checkCounts(chat: ChatRequest, model: Model): void {
  if (chat.stop.length > MOST_STOPS)
    throw invalid(
      `stop has ${chat.stop.length} sequences, and ${model.id} takes at most ${MOST_STOPS}.`,
      "stop",
    );
  const most = model.outputModalities.includes("image") ? 1 : MOST_CANDIDATES;
  if (chat.choices > most)
    throw invalid(`n is ${chat.choices}, and ${model.id} gives at most ${most} at once.`, "n");
}

function boundOf({ maxOutputTokens: asked }: ChatRequest, model: Model, warn: Warn): number | undefined {
  if (asked === undefined || model.maxOutput === null || asked <= model.maxOutput) return asked;
  warn(`max_tokens was lowered to ${model.maxOutput}: ${model.id} puts out no more`);
  return model.maxOutput;
}

function seedOf({ seed }: ChatRequest, warn: Warn): number | undefined {
  if (seed === undefined || (seed === Math.trunc(seed) && Math.abs(seed) < 2 ** 31)) return seed;
  warn("seed was left out: this model takes an integer of 32 bits");
  return undefined;
}

/** What is put out. A model of pictures gives them unless it is told not to, and a chat is text unless it says so. */
function output(chat: ChatRequest, model: Model, warn: Warn): JsonObject {
  const wanted = chat.outputModalities ?? ["text"];
  const makesImages = model.outputModalities.includes("image");
  const images = wanted.includes("image");
  const config = defined({ aspectRatio: chat.image?.aspectRatio, imageSize: chat.image?.size });
  const hasConfig = Object.keys(config).length > 0;
  if (hasConfig && !images) warn("image_config was left out: modalities do not ask for a picture");
  return {
    ...(makesImages || images
      ? {
          responseModalities: [...(wanted.includes("text") ? ["TEXT"] : []), ...(images ? ["IMAGE"] : [])],
        }
      : {}),
    ...(hasConfig && images ? { imageConfig: config } : {}),
  };
}

function format({ responseFormat }: ChatRequest): JsonObject {
  if (responseFormat === undefined) return {};
  return {
    responseMimeType: "application/json",
    ...(responseFormat.type === "json_schema" ? { responseJsonSchema: responseFormat.schema } : {}),
  };
}

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

function thinkingConfig(wish: ThinkingWish, model: Model, warn: Warn): JsonObject | undefined {
  const off = wish.mode === "off" || wish.effort === "none";
  const amount =
    model.thinking?.style === "budget" ? budget(wish, off, model, warn) : level(wish, off, model, warn);
  const shown = off || wish.hidden === true ? {} : { includeThoughts: true };
  const config = { ...amount, ...shown };
  return Object.keys(config).length === 0 ? undefined : config;
}

function budget(wish: ThinkingWish, off: boolean, model: Model, warn: Warn): JsonObject {
  if (off && model.thinking?.canBeOff !== false) return { thinkingBudget: 0 };
  if (off) {
    warn(`thinking was not switched off: ${model.id} always thinks`);
    return { thinkingBudget: TOKENS.minimal };
  }
  if (wish.budgetTokens !== undefined) return { thinkingBudget: wish.budgetTokens };
  if (wish.effort !== undefined) return { thinkingBudget: TOKENS[wish.effort] ?? MOST_TOKENS };
  return wish.mode === "auto" ? { thinkingBudget: -1 } : {};
}

function level(wish: ThinkingWish, off: boolean, model: Model, warn: Warn): JsonObject {
  const levels = (model.thinking?.efforts ?? LEVELS).filter((effort) => effort !== "none");
  const [least] = levels;
  if (off) {
    if (least === undefined) warn("thinking was not switched off: this model cannot be told to");
    else
      warn(
        `thinking was not switched off: ${model.id} always thinks, and was told to at its least, ${least}`,
      );
    return least === undefined ? {} : said(least);
  }
  const wanted = wish.effort ?? wordFor(wish.budgetTokens);
  if (wanted === undefined) return {};
  const nearest = nearestOf(wanted, levels);
  if (nearest === undefined) {
    warn("how much to think was left out: this model cannot be told that");
    return {};
  }
  if (wish.effort === undefined)
    warn(`thinking.budget_tokens became the level ${nearest}: this model is told no number`);
  else if (nearest !== wanted) warn(`the effort ${wanted} became ${nearest}: this model has no other`);
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

/** The members that say something. */
function defined(fields: Readonly<Record<string, unknown>>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
