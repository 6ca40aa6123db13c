import type { Citation } from "../../core/chat.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";

/** Where a candidate's text comes from, as its last metadata said. */
export interface Sources {
  readonly grounding?: JsonObject;
  readonly citations?: JsonObject;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The pages that `text` rests on, each place once, in the order of the text; those without a place at the end. */
export function readCitations(text: string, { grounding, citations }: Sources): Citation[] {
  const bytes = encoder.encode(text);
  const found = [
    ...listOf(citations?.citations).flatMap((citation) => {
      const { uri, title } = citation;
      return typeof uri === "string" ? [cited(uri, title, placeOf(citation, text, bytes))] : [];
    }),
    ...grounded(grounding ?? {}, text, bytes),
  ];
  const seen = new Map(found.map((citation) => [JSON.stringify(citation), citation]));
  return [...seen.values()].sort((a, b) => (a.start ?? Infinity) - (b.start ?? Infinity) || 0);
}

function grounded(grounding: JsonObject, text: string, bytes: Uint8Array): Citation[] {
  const pages = listOf(grounding.groundingChunks).map((chunk) => {
    const page = [chunk.web, chunk.retrievedContext, chunk.maps].find(isJsonObject);
    return typeof page?.uri === "string" ? { uri: page.uri, title: page.title } : undefined;
  });
  const used = new Set<unknown>();
  const places = listOf(grounding.groundingSupports).flatMap((support) => {
    const place = isJsonObject(support.segment) ? placeOf(support.segment, text, bytes) : undefined;
    const indexes: readonly unknown[] = Array.isArray(support.groundingChunkIndices)
      ? support.groundingChunkIndices
      : [];
    return indexes.flatMap((i) => {
      const page = typeof i === "number" ? pages[i] : undefined;
      if (page === undefined) return [];
      used.add(page);
      return [cited(page.uri, page.title, place)];
    });
  });
  const rest = pages.flatMap((page) =>
    page === undefined || used.has(page) ? [] : [cited(page.uri, page.title, undefined)],
  );
  return [...places, ...rest];
}

interface Place {
  readonly start: number;
  readonly end: number;
}

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

function cited(url: string, title: unknown, place: Place | undefined): Citation {
  return { url, ...(typeof title === "string" && title !== "" ? { title } : {}), ...place };
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
