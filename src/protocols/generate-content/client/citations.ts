import type { Citation } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";

/** Where a candidate's text comes from, as its last metadata said. */
export interface Sources {
  readonly grounding?: JsonObject;
  readonly citations?: JsonObject;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The pages that `text` rests on, each place once, in the order of the text; those without a place at the end. */
export function readCitations(text: string, { grounding = {}, citations = {} }: Sources): Citation[] {
  const bytes = encoder.encode(text);
  const pages = objectsIn(grounding.groundingChunks).map(({ web, retrievedContext, maps }) =>
    [web, retrievedContext, maps].find(isJsonObject),
  );
  const used = new Set<unknown>();
  const supported = objectsIn(grounding.groundingSupports).flatMap(({ segment, groundingChunkIndices }) => {
    const place = isJsonObject(segment) ? placeOf(segment, text, bytes) : undefined;
    const places: readonly unknown[] = Array.isArray(groundingChunkIndices) ? groundingChunkIndices : [];
    return places.flatMap((i) => {
      const page = typeof i === "number" ? pages[i] : undefined;
      used.add(page);
      return cited(page, place);
    });
  });
  const found = [
    ...objectsIn(citations.citations).flatMap((page) => cited(page, placeOf(page, text, bytes))),
    ...supported,
    ...pages.filter((page) => !used.has(page)).flatMap((page) => cited(page)),
  ];
  const seen = new Map(found.map((citation) => [JSON.stringify(citation), citation]));
  return [...seen.values()].sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity) || 0);
}

function cited(page: JsonObject | undefined, place?: Place): Citation[] {
  if (typeof page?.uri !== "string") return [];
  return [{ url: page.uri, ...present({ title: filledText(page.title) }), ...place }];
}

type Place = Required<Pick<Citation, "start" | "end">>;

/**
 * Offsets are of bytes, and of one part. Where a segment quotes its text, only a place that reads so counts; else it is
 * looked for.
 */
function placeOf(segment: JsonObject, text: string, bytes: Uint8Array): Place | undefined {
  const { startIndex = 0, endIndex, text: quote } = segment;
  if (typeof startIndex === "number" && typeof endIndex === "number" && endIndex <= bytes.length) {
    const start = decoder.decode(bytes.subarray(0, startIndex)).length;
    const end = decoder.decode(bytes.subarray(0, endIndex)).length;
    if (typeof quote !== "string" || text.slice(start, end) === quote) return { start, end };
  }
  const found = typeof quote === "string" && quote !== "" ? text.indexOf(quote) : -1;
  return found === -1 ? undefined : { start: found, end: found + String(quote).length };
}
