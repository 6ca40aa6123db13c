import type { JsonObject } from "../../../core/json/json-value.ts";
import { inputTokens, outputTokens, type TokenUsage } from "../../../core/money/usage.ts";

/** Usage as it stands on the wire: cached and written tokens are within the input, reasoning within the output. */
export function encodeUsage(usage: TokenUsage): JsonObject {
  const [input, output] = [inputTokens(usage), outputTokens(usage)];
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + output,
  };
}
