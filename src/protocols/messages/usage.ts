import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { NO_USAGE, type Usage } from "../../core/money/usage.ts";
import type { Metered } from "../protocol.ts";
import { openUsageCounts } from "../usage-counts.ts";

/** Counts that stand in a usage, and in each of the rounds that it lists. */
const COUNTS = [
  "input_tokens",
  "cache_read_input_tokens",
  "cache_creation_input_tokens",
  "output_tokens",
] as const;

/**
 * Turns the counts of the wire into disjoint buckets: `input_tokens` is uncached input only, cache reads and writes
 * stand beside it, `output_tokens` is all output and thinking a part of it. Counts that cannot be are clamped, and
 * flagged. `undefined` when neither total is there.
 */
export function readUsage(told: unknown): Metered | undefined {
  if (!isJsonObject(told)) return undefined;
  if (typeof told.input_tokens !== "number" && typeof told.output_tokens !== "number") return undefined;
  const { flags, count, take } = openUsageCounts();
  // One total alone is better than none, but it is not the whole truth.
  if (typeof told.input_tokens !== "number" || typeof told.output_tokens !== "number") flags.add("clamped");
  const value = withRounds(told);
  const split = isJsonObject(value.cache_creation) ? value.cache_creation : {};
  const short = count(split.ephemeral_5m_input_tokens);
  const long = count(split.ephemeral_1h_input_tokens);
  const written = Math.max(count(value.cache_creation_input_tokens), 0) || short + long;
  const cacheWrite1h = take(long, written);
  const output = count(value.output_tokens);
  const details = isJsonObject(value.output_tokens_details) ? value.output_tokens_details : {};
  const reasoning = take(count(details.thinking_tokens), output);
  const served = isJsonObject(value.server_tool_use) ? value.server_tool_use : {};
  const webSearches = count(served.web_search_requests);
  const usage: Usage = {
    ...NO_USAGE,
    input: count(value.input_tokens),
    cacheRead: count(value.cache_read_input_tokens),
    cacheWrite5m: written - cacheWrite1h,
    cacheWrite1h,
    output: output - reasoning,
    reasoning,
    ...(webSearches === 0 ? {} : { webSearches }),
  };
  return { usage, flags: [...flags] };
}

/**
 * A usage that lists the rounds of its answer (`iterations`) may state only the last of them in its totals; all are
 * billed. Rounds of other models have prices of their own and cannot be asked for.
 */
function withRounds(value: JsonObject): JsonObject {
  if (!Array.isArray(value.iterations)) return value;
  const rounds = (value.iterations as readonly unknown[])
    .filter(isJsonObject)
    .filter(({ type }) => type === undefined || type === "message" || type === "compaction");
  const sums: Record<string, unknown> = {};
  for (const name of COUNTS) {
    const told = value[name];
    const sum = rounds.reduce((all, round) => all + (isCount(round[name]) ? round[name] : 0), 0);
    sums[name] = told === undefined || told === null || isCount(told) ? Math.max(told ?? 0, sum) : told;
  }
  return { ...value, ...sums };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0;
}

/** Usage as it stands on the wire. */
export function encodeUsage(usage: Usage): JsonObject {
  return {
    input_tokens: usage.input + usage.imageInput + usage.audioInput,
    cache_creation_input_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cacheWrite5m,
      ephemeral_1h_input_tokens: usage.cacheWrite1h,
    },
    output_tokens: usage.output + usage.reasoning + usage.imageOutput + usage.audioOutput,
    output_tokens_details: { thinking_tokens: usage.reasoning },
    server_tool_use: { web_search_requests: usage.webSearches ?? 0, web_fetch_requests: 0 },
  };
}
