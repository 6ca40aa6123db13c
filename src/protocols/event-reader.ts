import { createSseLines } from "../core/sse-lines.ts";
import { createEventJoiner, type Span } from "./event-joiner.ts";

/** A line, and an event of several, that is longer than this is a fault of the provider, unless a format says more. */
const MAX_LINE_BYTES = 1024 * 1024;
const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** Cuts a provider's bytes into whole events and comments. */
export interface EventReader {
  /** Takes the next bytes; `false` when an event is too long, after which the stream is unusable. */
  push(bytes: Uint8Array): boolean;
  /** No more bytes come: the last event may lack its blank line. */
  end(): void;
}

/** A reader that hands the data of each event to `event`, and each comment without its colon to `comment`. */
export function createEventReader(event: Span, comment: Span, maxLineBytes = MAX_LINE_BYTES): EventReader {
  const events = createEventJoiner(event, comment);
  const lines = createSseLines(events, maxLineBytes);
  return {
    push: (bytes) => lines.push(bytes) && events.keep() <= Math.max(MAX_EVENT_BYTES, maxLineBytes),
    end: () => lines.end(),
  };
}

const DONE = new TextEncoder().encode("[DONE]");

/** Whether the data of an event is the end mark of the format that has one. Other servers are seen to send it too. */
export function isDoneMark(bytes: Uint8Array, start: number, end: number): boolean {
  let from = start;
  while (from < end && bytes[from] === 0x20) from += 1;
  while (end > from && bytes[end - 1] === 0x20) end -= 1;
  if (end - from !== DONE.length) return false;
  return DONE.every((byte, i) => bytes[from + i] === byte);
}
