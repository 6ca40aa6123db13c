import { type CountedTokens, splitOff, type Tokens } from "../charge.ts";
import type { Json } from "../wire-json.ts";

/**
 * Recorded usage as disjoint buckets, by the vendors table. Cached tokens are part of the prompt and may themselves be
 * audio or images. Reasoning, audio and images are part of the output. Where the total is higher than prompt and
 * completion, what stands beside them is added. These are xAI's reasoning, Mistral's audio, and the thinking that
 * Google leaves out of `completion_tokens`.
 */
export function tokensOf(usage: Json): CountedTokens {
  const inDetails = usage.prompt_tokens_details ?? usage.prompt_token_details ?? {};
  const outDetails = usage.completion_tokens_details ?? {};
  const cached: number =
    inDetails.cached_tokens ??
    usage.prompt_cache_hit_tokens ??
    usage.cached_tokens ??
    usage.num_cached_tokens ??
    0;
  const written: number = inDetails.cache_write_tokens ?? usage.cache_creation_input_tokens ?? 0;
  const audio: number = inDetails.audio_tokens ?? 0;
  let prompt: number = usage.prompt_tokens;
  let completion: number = usage.completion_tokens;
  let thinking: number = outDetails.reasoning_tokens ?? 0;
  let flag: string | undefined;
  const beside: number = (usage.total_tokens ?? prompt + completion) - prompt - completion;
  if (beside > 0 && beside === thinking) completion += beside;
  else if (beside > 0 && beside === audio) prompt += beside;
  else if (beside > 0 && thinking === 0) {
    thinking = beside;
    flag = "inferred";
    completion += beside;
  }
  const input = splitOff(prompt, [cached, written, audio, inDetails.image_tokens ?? 0]);
  const output = splitOff(completion, [thinking, outDetails.audio_tokens ?? 0, outDetails.image_tokens ?? 0]);
  const tokens: Tokens = {
    input: input.rest,
    cache_read: input.parts[0] ?? 0,
    cache_write_5m: input.parts[1] ?? 0,
    cache_write_1h: 0,
    audio_input: input.parts[2] ?? 0,
    image_input: input.parts[3] ?? 0,
    output: output.rest,
    reasoning: output.parts[0] ?? 0,
    audio_output: output.parts[1] ?? 0,
    image_output: output.parts[2] ?? 0,
  };
  if (cached > prompt || thinking > completion) flag = "clamped";
  return { tokens, flags: flag === undefined ? undefined : [flag] };
}
