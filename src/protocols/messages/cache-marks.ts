import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import type { Losses } from "../losses.ts";

/** Source: the provider's refusal, "A maximum of 4 blocks with cache_control may be provided". */
const MOST_MARKS = 4;

/**
 * Takes away breakpoints of the prompt cache that are too many. The last ones stay: each covers all that stands before
 * it, in the order of tools, system and messages. The body is one that was just made, and is changed in place.
 */
export function limitMarks(body: JsonObject, losses: Losses): void {
  const marked = [body.tools, body.system, body.messages].flatMap((value) => markedIn(value));
  if (marked.length <= MOST_MARKS) return;
  for (const block of marked.slice(0, -MOST_MARKS)) delete block.cache_control;
  losses.note({ place: "cache", why: "too_many_marks", most: MOST_MARKS });
}

/** Blocks with a mark, in order; what is only a tool's input or schema has none. */
function markedIn(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return (value as readonly unknown[]).flatMap((item) => markedIn(item));
  if (!isJsonObject(value)) return [];
  const inner = markedIn(value.content);
  return "cache_control" in value ? [...inner, value] : inner;
}
