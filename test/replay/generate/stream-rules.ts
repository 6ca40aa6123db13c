import type { Json } from "../wire-json.ts";
import { chunksOf, hasFinish } from "./chunks.ts";

/** What official clients need of a streamed answer; every breach, named. */
export function breachesOf(text: string): string[] {
  const breaches: string[] = [];
  const odd = text.split(/\r\n|\n|\r/).filter((line) => line !== "" && !line.startsWith("data:"));
  if (odd.length > 0) breaches.push(`lines that are no data: ${odd[0]}`);
  if (!/(\r\n\r\n|\n\n|\r\r)$/.test(text)) breaches.push("no blank line at the end");
  const chunks = chunksOf(text);
  chunks.forEach((chunk, at) => {
    if (chunk.promptFeedback !== undefined) return;
    const parts = chunk.candidates?.[0]?.content?.parts;
    if (!Array.isArray(parts) || parts.length === 0) breaches.push(`chunk ${at} has no part`);
  });
  const last = chunks.at(-1);
  if (typeof last?.credit !== "number") breaches.push("the last chunk has no credit");
  if (last?.usageMetadata === undefined) breaches.push("the last chunk has no usage");
  if (last?.promptFeedback === undefined && !hasFinish(last))
    breaches.push("the last chunk has no finish reason");
  if (chunks.slice(0, -1).some((chunk) => chunk.credit !== undefined)) breaches.push("credit stands twice");
  return breaches;
}

/** Whether a stream says that it broke: its last word is an error with a number, and not all candidates have ended. */
export function looksBroken(chunks: readonly Json[], choices: number): boolean {
  const { error } = chunks.at(-1) ?? {};
  const ended = chunks
    .flatMap(({ candidates }) => (candidates ?? []) as Json[])
    .filter(({ finishReason }) => finishReason !== undefined)
    .map(({ index = 0 }) => index);
  return (
    typeof error?.message === "string" &&
    Number.isInteger(error.code) &&
    typeof error.status === "string" &&
    new Set(ended).size < choices
  );
}
