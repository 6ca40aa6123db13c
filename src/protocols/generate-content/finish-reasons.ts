import type { FinishReason } from "../../core/chat.ts";

const FILTERED = new Set(
  "SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE MODEL_ARMOR IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_OTHER".split(
    " ",
  ),
);

/** Some servers write the enumeration's numbers; two versions of it agree on these and no more. */
const NUMBERED: Readonly<Record<number, string>> = {
  1: "STOP",
  2: "MAX_TOKENS",
  3: "SAFETY",
  4: "RECITATION",
  6: "BLOCKLIST",
  7: "BLOCKLIST",
  8: "SPII",
  11: "IMAGE_SAFETY",
};

/** The reason of a candidate as a word; `undefined` while it has none. */
export function finishWord(reason: unknown): string | undefined {
  if (typeof reason === "number") return reason > 0 ? (NUMBERED[reason] ?? "OTHER") : undefined;
  return typeof reason === "string" && reason !== "" && !reason.endsWith("_UNSPECIFIED") ? reason : undefined;
}

/**
 * What a reason means. A call ends with the same word as a text does. Whatever is not known to be an end is an error: an
 * answer that broke off never looks whole.
 */
export function finishReason(word: string, hasCalls: boolean): FinishReason {
  if (word === "STOP") return hasCalls ? "tool_calls" : "stop";
  if (word === "MAX_TOKENS" || word === "CONTINUATION") return "length";
  return FILTERED.has(word) ? "content_filter" : "error";
}
