import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { inputTokens, NO_USAGE, outputTokens, type TokenUsage } from "../../core/money/usage.ts";
import type { Metered } from "../protocol.ts";
import { MOST_TOKENS, openUsageCounts } from "../usage-counts.ts";

/**
 * Turns the overlapping counts of the wire (`prompt_tokens` is all input, `completion_tokens` all output, details
 * are subsets) into disjoint buckets. Vendors differ in where they put cached tokens and in whether reasoning is
 * inside `completion_tokens` (xAI adds it). Counts that cannot be are clamped, and flagged.
 * `undefined` when the two totals are not there.
 */
export function readUsage(value: unknown): Metered | undefined {
  if (!isJsonObject(value)) return undefined;
  const { flags, count, take } = openUsageCounts();
  if (typeof value.prompt_tokens !== "number" && typeof value.completion_tokens !== "number")
    return undefined;

  // One total alone is better than none, but it is not the whole truth.
  if (typeof value.prompt_tokens !== "number" || typeof value.completion_tokens !== "number")
    flags.add("clamped");
  const details = promptDetails(value);
  const outDetails = isJsonObject(value.completion_tokens_details) ? value.completion_tokens_details : {};

  const beside = countedBeside(value);
  if (beside.thinking > 0) flags.add("inferred");
  const prompt = count(value.prompt_tokens) + beside.input;

  const cacheRead = take(count(cachedTokens(value, details)), prompt);
  const cacheWrite = take(
    count(
      details.cache_write_tokens ?? details.cache_creation_input_tokens ?? value.cache_creation_input_tokens,
    ),
    prompt - cacheRead,
  );
  // Cached tokens may be audio or images too, so these two can be more than what is left: no fault.
  const audioInput = Math.min(count(details.audio_tokens), prompt - cacheRead - cacheWrite);
  const imageInput = Math.min(count(details.image_tokens), prompt - cacheRead - cacheWrite - audioInput);

  const reasoning = count(outDetails.reasoning_tokens) + beside.thinking;
  const completion = count(value.completion_tokens) + beside.output;
  const reasoningOut = take(reasoning, completion);
  const audioOutput = take(count(outDetails.audio_tokens), completion - reasoningOut);
  const imageOutput = take(count(outDetails.image_tokens), completion - reasoningOut - audioOutput);

  const usage: TokenUsage = {
    ...NO_USAGE,
    input: prompt - cacheRead - cacheWrite - audioInput - imageInput,
    cacheRead,
    cacheWrite5m: cacheWrite,
    audioInput,
    imageInput,
    output: completion - reasoningOut - audioOutput - imageOutput,
    reasoning: reasoningOut,
    audioOutput,
    imageOutput,
  };
  return { usage, flags: [...flags] };
}

/** Usage as it stands on the wire. */
export function encodeUsage(usage: TokenUsage): JsonObject {
  const prompt = inputTokens(usage);
  const completion = outputTokens(usage);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
      audio_tokens: usage.audioInput,
      ...imageTokens(usage.imageInput),
    },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.audioOutput,
      ...imageTokens(usage.imageOutput),
    },
  };
}

/** Images cost a multiple of text, so an answer that has them says how many tokens they were. */
function imageTokens(count: number): JsonObject {
  return count === 0 ? {} : { image_tokens: count };
}

/** Whether wire usage can be shown as it is: its totals are there and agree. */
export function isPlainUsage(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { prompt_tokens, completion_tokens, total_tokens } = value;
  return (
    typeof prompt_tokens === "number" &&
    typeof completion_tokens === "number" &&
    total_tokens === prompt_tokens + completion_tokens
  );
}

function cachedTokens(value: JsonObject, details: JsonObject): unknown {
  const elsewhere = value.prompt_cache_hit_tokens ?? value.cached_tokens ?? value.num_cached_tokens;
  return details.cached_tokens ?? elsewhere;
}

/**
 * Tokens that only the total counts, beside prompt and completion. They are xAI's reasoning where they equal that
 * detail, and Mistral's audio where they equal that one. Else they are the thinking that Google's endpoint names
 * nowhere.
 */
function countedBeside(value: JsonObject): Readonly<Record<"input" | "output" | "thinking", number>> {
  const none = { input: 0, output: 0, thinking: 0 };
  const { total_tokens: total, prompt_tokens: prompt, completion_tokens: completion } = value;
  if (!isCount(total) || !isCount(prompt) || !isCount(completion) || total <= prompt + completion)
    return none;
  const beside = total - prompt - completion;
  const details = isJsonObject(value.completion_tokens_details) ? value.completion_tokens_details : undefined;
  if (details?.reasoning_tokens === beside) return { ...none, output: beside };
  if (promptDetails(value).audio_tokens === beside) return { ...none, input: beside };
  return details === undefined ? { ...none, output: beside, thinking: beside } : none;
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MOST_TOKENS;
}

/** The parts of the prompt; Mistral spells the name in two ways. */
function promptDetails(value: JsonObject): JsonObject {
  if (isJsonObject(value.prompt_tokens_details)) return value.prompt_tokens_details;
  return isJsonObject(value.prompt_token_details) ? value.prompt_token_details : {};
}
