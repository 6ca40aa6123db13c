import type { Citation } from "../../../core/chat.ts";
import { filledText, isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";

/** The page that an annotation names; `undefined` for one of another kind. */
export function readCitation({ type, url_citation: held, ...flat }: JsonObject): Citation | undefined {
  const told = isJsonObject(held) ? held : flat;
  const url = filledText(told.url);
  if (type !== "url_citation" || url === undefined) return undefined;
  const { start_index: start, end_index: end } = told;
  const isSpan = isPlace(start) && isPlace(end) && start < end;
  return { url, ...present({ title: filledText(told.title) }), ...(isSpan ? { start, end } : {}) };
}

function isPlace(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0;
}
