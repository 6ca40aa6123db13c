import { type CountedTokens, NO_TOKENS } from "../charge.ts";
import type { Json } from "../wire-json.ts";

/**
 * Recorded usage as disjoint buckets. The prompt includes what came from a cache, and leaves out what the provider's
 * own tools put in; candidates leave out thoughts. Audio and images are told by modality; videos and documents count
 * as text does. Where a cache has more of a modality than the prompt, the rest of the prompt has none of it.
 */
export function generateTokens(usage: Json): CountedTokens {
  const prompt = byModality(usage.promptTokensDetails);
  const cached = byModality(usage.cacheTokensDetails);
  const tools = byModality(usage.toolUsePromptTokensDetails);
  const made = byModality(usage.candidatesTokensDetails);
  const fresh = (modality: string): number =>
    Math.max(0, prompt(modality) - cached(modality)) + tools(modality);
  const cacheRead: number = usage.cachedContentTokenCount ?? 0;
  const input = (usage.promptTokenCount ?? 0) - cacheRead + (usage.toolUsePromptTokenCount ?? 0);
  const audioInput = Math.min(fresh("AUDIO"), input);
  const imageInput = Math.min(fresh("IMAGE"), input - audioInput);
  const output: number = usage.candidatesTokenCount ?? 0;
  return {
    tokens: {
      ...NO_TOKENS,
      input: input - audioInput - imageInput,
      cache_read: cacheRead,
      audio_input: audioInput,
      image_input: imageInput,
      reasoning: usage.thoughtsTokenCount ?? 0,
      output: output - made("AUDIO") - made("IMAGE"),
      audio_output: made("AUDIO"),
      image_output: made("IMAGE"),
    },
    flags: undefined,
  };
}

function byModality(details: Json): (modality: string) => number {
  return (modality) =>
    (details ?? [])
      .filter((detail: Json) => detail.modality === modality)
      .reduce((sum: number, detail: Json) => sum + (detail.tokenCount ?? 0), 0);
}

/** Searches that the provider made for an answer: each question of a candidate once, empty ones not at all. */
export function searchesOf(chunks: readonly Json[]): number {
  const asked = new Set<string>();
  for (const { index = 0, groundingMetadata } of chunks.flatMap(({ candidates }) => candidates ?? []))
    for (const question of groundingMetadata?.webSearchQueries ?? [])
      if (question !== "") asked.add(`${index} ${question}`);
  return asked.size;
}
