import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import type { AnswerContext, Metered } from "../protocol.ts";
import { openUsageCounts } from "../usage-counts.ts";

/**
 * The input tokens that a provider counted; our own count of them, flagged, where it counted none. All embeddings use is
 * input.
 */
export function meterInput(
  counted: unknown,
  { expectedInput }: Pick<AnswerContext, "expectedInput">,
): Metered {
  const { flags, count } = openUsageCounts();
  const input = count(counted);
  if (input > 0) return { usage: { ...NO_USAGE, input }, flags: [...flags] };
  return { usage: { ...NO_USAGE, input: expectedInput }, flags: ["estimated"] };
}

/** The count in a usage of OpenAI's form. Voyage has the total alone. */
export function countedInput(usage: unknown): unknown {
  return isJsonObject(usage) ? (usage.prompt_tokens ?? usage.total_tokens) : undefined;
}

/** Usage as it stands in an answer. */
export function encodeInput({ usage: { input } }: Metered): JsonObject {
  return { prompt_tokens: input, total_tokens: input };
}
