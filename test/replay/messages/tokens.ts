import { type CountedTokens, NO_TOKENS } from "../charge.ts";
import type { Json } from "../wire-json.ts";

/**
 * Recorded usage as disjoint buckets. `input_tokens` is what came from no cache; reads and writes stand beside it. What
 * was written for an hour is told apart; the rest of the writes is for five minutes. This also holds where the split
 * adds up to less than the total. It does so in a stream whose total grew while it searched. Thinking is a part of the
 * output.
 */
export function messagesTokens(usage: Json): CountedTokens {
  const written: number = usage.cache_creation_input_tokens ?? 0;
  const forAnHour: number = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0;
  const thinking: number = usage.output_tokens_details?.thinking_tokens ?? 0;
  return {
    tokens: {
      ...NO_TOKENS,
      input: usage.input_tokens,
      cache_read: usage.cache_read_input_tokens ?? 0,
      cache_write_1h: forAnHour,
      cache_write_5m: written - forAnHour,
      reasoning: thinking,
      output: usage.output_tokens - thinking,
    },
    webSearches: usage.server_tool_use?.web_search_requests ?? 0,
    flags: undefined,
  };
}

/** All input that a recorded usage tells of: section 0 of the conversions, what a chat client would read as prompt. */
export function messagesInput(usage: Json): number {
  return usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
}
