import { sseData } from "../../upstream/sse-bytes.ts";
import type { Json } from "../wire-json.ts";

/** The data of a stream's events; a stream in any other shape fails. */
export function chunksOf(text: string): Json[] {
  return sseData(text).map((data) => JSON.parse(data));
}

/** Whether any of a chunk's candidates has ended. */
export function hasFinish(chunk: Json): boolean {
  return (chunk.candidates ?? []).some(({ finishReason }: Json) => finishReason !== undefined);
}

/** An answer in an array of chunks, as it comes where events are not asked for, written as the events they would be. */
export function framedAsEvents(chunks: readonly Json[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\r\n\r\n`).join("");
}

/**
 * The chunks that a client must get for those that came. What says nothing but usage goes into the last chunk. That is
 * the one with the first finish reason, held to the end. Every candidate has parts.
 */
export function wantedChunks(chunks: readonly Json[], credit: Json): Json[] {
  const usage = chunks.findLast(({ usageMetadata }) => usageMetadata !== undefined)?.usageMetadata;
  const told = chunks.filter(({ candidates, promptFeedback }) => candidates?.length > 0 || promptFeedback);
  const held = told.findIndex(hasFinish);
  const last = held === -1 ? told.length - 1 : held;
  const ordered = [...told.filter((_, at) => at !== last), told[last]];
  const shown: Json[] = ordered.map(withParts);
  Object.assign(shown.at(-1), usage === undefined ? {} : { usageMetadata: usage }, { credit });
  return shown;
}

function withParts(chunk: Json): Json {
  if (chunk.candidates === undefined) return { ...chunk };
  const candidates = chunk.candidates.map((candidate: Json) =>
    candidate.content?.parts?.length > 0
      ? candidate
      : { ...candidate, content: { role: "model", ...candidate.content, parts: [{ text: "" }] } },
  );
  return { ...chunk, candidates };
}
