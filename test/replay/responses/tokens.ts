import { type CountedTokens, NO_TOKENS } from "../charge.ts";
import type { Json } from "../wire-json.ts";

/** What a request asks for, so that reasoning comes back sealed. */
export const SEALED = "reasoning.encrypted_content";

/** A member that has some of what a model said. */
const SAYS = /"(text|name|arguments|input)":"[^"]/;

/**
 * Recorded usage as disjoint buckets. What came from the cache and what was written to it are parts of the input.
 * Reasoning is a part of the output. Searches stand beside usage, or are counted by their items: opening a page is
 * free. Nothing is told where an answer says something and counts none of it.
 */
export function responsesTokens({ usage, tool_usage: tools, output }: Json): CountedTokens | undefined {
  if (typeof usage?.input_tokens !== "number") return undefined;
  if (usage.output_tokens === 0 && SAYS.test(JSON.stringify(output))) return undefined;
  const cached: number = usage.input_tokens_details?.cached_tokens ?? 0;
  const written: number = usage.input_tokens_details?.cache_write_tokens ?? 0;
  const thinking: number = usage.output_tokens_details?.reasoning_tokens ?? 0;
  const searches = output.filter(
    ({ type, action }: Json) => type === "web_search_call" && (action?.type ?? "search") === "search",
  );
  return {
    tokens: {
      ...NO_TOKENS,
      input: usage.input_tokens - cached - written,
      cache_read: cached,
      cache_write_5m: written,
      output: usage.output_tokens - thinking,
      reasoning: thinking,
    },
    webSearches: tools?.web_search?.num_requests ?? searches.length,
    flags: undefined,
  };
}
