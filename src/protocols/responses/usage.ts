import { isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { inputTokens, NO_USAGE, outputTokens, type TokenUsage } from "../../core/money/usage.ts";
import { printable } from "../printable.ts";
import type { Metered } from "../protocol.ts";
import { openUsageCounts } from "../usage-counts.ts";

/**
 * Usage of a response object in disjoint buckets: `input_tokens` has cached and cache-written tokens in it,
 * `output_tokens` reasoning. Searches stand outside of usage. `undefined` where no usage is told.
 * Source: `ResponseUsage` and `tool_usage` of openai-node 7.57.
 */
export function readUsage(response: JsonObject): Metered | undefined {
  const { usage: told } = response;
  if (!isJsonObject(told)) return undefined;
  const { flags, count, take } = openUsageCounts();
  if (typeof told.input_tokens !== "number" && typeof told.output_tokens !== "number") return undefined;
  const details = isJsonObject(told.input_tokens_details) ? told.input_tokens_details : {};
  const outDetails = isJsonObject(told.output_tokens_details) ? told.output_tokens_details : {};
  const input = count(told.input_tokens);
  const cacheRead = take(count(details.cached_tokens), input);
  const cacheWrite5m = take(count(details.cache_write_tokens), input - cacheRead);
  const output = count(told.output_tokens);
  const reasoning = take(count(outDetails.reasoning_tokens), output);
  const usage: TokenUsage = {
    ...NO_USAGE,
    input: input - cacheRead - cacheWrite5m,
    cacheRead,
    cacheWrite5m,
    output: output - reasoning,
    reasoning,
  };
  const webSearches = searchesIn(response);
  const unknown = [
    ...unknownIn("usage", told, TOTALS),
    ...unknownIn("usage.input_tokens_details", details, OF_INPUT),
    ...unknownIn("usage.output_tokens_details", outDetails, OF_OUTPUT),
  ];
  return {
    usage: webSearches === 0 ? usage : { ...usage, webSearches },
    flags: [...flags],
    ...(unknown.length === 0 ? {} : { unknown }),
  };
}

const TOTALS: ReadonlySet<string> = new Set(["input_tokens", "output_tokens", "total_tokens"]);
const OF_INPUT: ReadonlySet<string> = new Set(["cached_tokens", "cache_write_tokens"]);
const OF_OUTPUT: ReadonlySet<string> = new Set(["reasoning_tokens"]);

/** Counts of tokens that are more than none, and none of the `known`. A new bucket may have a price of its own. */
function unknownIn(path: string, counts: JsonObject, known: ReadonlySet<string>): readonly string[] {
  const names: string[] = [];
  for (const name in counts)
    if (name.endsWith("_tokens") && !known.has(name) && Number(counts[name]) > 0)
      names.push(`${path}.${printable(name)}`);
  return names;
}

/** Searches that were made: as the provider counts them, else those among the items. Opening a page is free. */
function searchesIn({ tool_usage: tools, output }: JsonObject): number {
  const told =
    isJsonObject(tools) && isJsonObject(tools.web_search) ? tools.web_search.num_requests : undefined;
  if (typeof told === "number" && Number.isSafeInteger(told) && told >= 0) return told;
  return objectsIn(output).filter(
    ({ type, action }) => type === "web_search_call" && (!isJsonObject(action) || action.type === "search"),
  ).length;
}

/** Usage as it stands on the wire. */
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
