import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Metered } from "../protocol.ts";
import { encodeError } from "./error-body.ts";
import { encodeUsage } from "./usage.ts";

/** What every chunk of one stream begins with. `id` and `created` are JSON as it is written. */
export interface ChunkHead {
  readonly id: string;
  readonly created: string | number;
  /** As a client knows it. */
  readonly model: string;
}

/** A chunk of one stream up to its `choices`, without the closing brace. */
export function openChunk({ id, created, model }: ChunkHead): string {
  return `{"id":${id},"object":"chat.completion.chunk","created":${created},"model":${JSON.stringify(model)}`;
}

/** The chunk with the usage, or with `credit` the one that repeats it beside the charge. `usage` is JSON. */
export function usageChunk(head: ChunkHead, usage: string, credit?: MicroCredits): string {
  const charge = credit === undefined ? "" : `,"credit":${creditsText(credit)}`;
  return `data: ${openChunk(head)},"choices":[],"usage":${usage}${charge}}\n\n`;
}

/**
 * A finish chunk for every choice that has none; for an answer that never began, or that broke after its end, for the
 * first. `choices` tells by index whether a choice has finished.
 */
export function finishChunks(head: ChunkHead, choices: ReadonlyMap<number, boolean>, reason: string): string {
  const known = choices.size === 0 ? [[0, false] as const] : [...choices];
  const open = known.filter(([, finished]) => !finished);
  const delta = choices.size === 0 ? '{"role":"assistant"}' : "{}";
  return (open.length === 0 ? known.slice(0, 1) : open)
    .map(
      ([index]) =>
        `data: ${openChunk(head)},"choices":[{"index":${index},"delta":${delta},"finish_reason":"${reason}"}]}\n\n`,
    )
    .join("");
}

/** The end of an answer that broke. Without `credit` its charge is not known yet. */
export function brokenTail(
  head: ChunkHead,
  choices: ReadonlyMap<number, boolean>,
  error: GatewayError,
  metered: Metered,
  credit: MicroCredits | undefined,
): string {
  const usage = JSON.stringify(encodeUsage(metered.usage));
  const charge = credit === undefined ? "" : usageChunk(head, usage, credit);
  const ends = finishChunks(head, choices, "error");
  return ends + usageChunk(head, usage) + charge + errorEvent(error) + DONE_EVENT;
}

/** The event by which clients learn that an answer broke: an error with no chunk around it. */
export function errorEvent(error: GatewayError): string {
  return `data: ${JSON.stringify(encodeError(error))}\n\n`;
}

/** The end mark. */
export const DONE_EVENT = "data: [DONE]\n\n";

/** A comment, which every client of the format skips. */
export const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");
