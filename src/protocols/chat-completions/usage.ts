import { inputTokens, NO_USAGE, outputTokens, type TokenUsage, type UsageFlag } from "../../core/usage.ts";
import type { Metered } from "../protocol.ts";

type Json = Readonly<Record<string, unknown>>;

/** No request comes to this many tokens: above it a count is a fault of the provider. */
const MOST_TOKENS = 100_000_000;

/**
 * Turns the overlapping counts of the wire (`prompt_tokens` is all input, `completion_tokens` all output, details
 * are subsets) into disjoint buckets. Vendors differ in where they put cached tokens and in whether reasoning is
 * inside `completion_tokens` (vendors.md: xAI adds it). Counts that cannot be are clamped, and flagged.
 * `undefined` when the two totals are not there.
 */
export function readUsage(value: unknown): Metered | undefined {
  if (!isObject(value)) return undefined;
  const flags = new Set<UsageFlag>();
  const count = (raw: unknown): number => {
    if (raw === undefined || raw === null) return 0;
    if (typeof raw === "number" && Number.isInteger(raw) && raw >= 0 && raw <= MOST_TOKENS) return raw;
    flags.add("clamped");
    return typeof raw === "number" && raw > 0 && Number.isFinite(raw)
      ? Math.min(Math.floor(raw), MOST_TOKENS)
      : 0;
  };
  if (typeof value.prompt_tokens !== "number" && typeof value.completion_tokens !== "number")
    return undefined;

  const details = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details : {};
  const outDetails = isObject(value.completion_tokens_details) ? value.completion_tokens_details : {};
  const take = (wanted: number, left: number): number => {
    if (wanted > left) flags.add("clamped");
    return Math.min(wanted, left);
  };

  const beside = countedBeside(value, count);
  const prompt = count(value.prompt_tokens) + beside.input;

  const cacheRead = take(count(cachedTokens(value, details)), prompt);
  const cacheWrite = take(
    count(details.cache_write_tokens ?? value.cache_creation_input_tokens),
    prompt - cacheRead,
  );
  // Cached tokens may be sound or pictures too, so these two can be more than what is left: no fault.
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
export function encodeUsage(usage: TokenUsage): Json {
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
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning, audio_tokens: usage.audioOutput },
  };
}

/** Whether wire usage can be shown as it is: its totals are there and agree. */
export function isPlainUsage(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { prompt_tokens, completion_tokens, total_tokens } = value;
  return (
    typeof prompt_tokens === "number" &&
    typeof completion_tokens === "number" &&
    total_tokens === prompt_tokens + completion_tokens
  );
}

function cachedTokens(value: Json, details: Json): unknown {
  return (
    details.cached_tokens ??
    value.prompt_cache_hit_tokens ??
    value.cached_tokens ??
    value.num_cached_tokens ??
    undefined
  );
}

/**
 * Tokens that only the total counts. What stands beside prompt and completion is xAI's reasoning where it equals that
 * detail, Mistral's sound where it equals that one, and else the thinking that Google's endpoint names nowhere.
 */
function countedBeside(
  value: Json,
  count: (raw: unknown) => number,
): { readonly input: number; readonly output: number; readonly thinking: number } {
  const none = { input: 0, output: 0, thinking: 0 };
  if (value.total_tokens === undefined || value.total_tokens === null) return none;
  const beside = count(value.total_tokens) - count(value.prompt_tokens) - count(value.completion_tokens);
  if (beside <= 0) return none;
  const sound = isObject(value.prompt_tokens_details) ? value.prompt_tokens_details.audio_tokens : undefined;
  const thinking = isObject(value.completion_tokens_details)
    ? value.completion_tokens_details.reasoning_tokens
    : undefined;
  if (thinking === beside) return { ...none, output: beside };
  if (sound === beside) return { ...none, input: beside };
  return thinking === undefined || thinking === null || thinking === 0
    ? { ...none, output: beside, thinking: beside }
    : none;
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
