import { isJsonObject, type JsonObject } from "../../../core/json/json-value.ts";
import { isKept } from "../../../core/json/kept.ts";

/** Blocks with a mark, in order; what is only a tool's input or schema has none. */
export function markedIn(value: unknown): JsonObject[] {
  // A list that comes again has none: one may have to go.
  if (Array.isArray(value)) return isKept(value) ? [] : (value as readonly unknown[]).flatMap(markedIn);
  if (!isJsonObject(value)) return [];
  const inner = markedIn(value.content);
  return value.cache_control === undefined ? inner : [...inner, value];
}
