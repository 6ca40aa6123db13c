import { joinBytes } from "../core/bytes.ts";
import type { SseVisitor } from "../core/sse-lines.ts";

/** Told of bytes that are good during the call only. */
export type Span = (bytes: Uint8Array, start: number, end: number) => void;

/** Turns lines into whole events. */
export interface EventJoiner extends SseVisitor {
  /** Copies what waits for its blank line (the bytes handed in are good for one call only); tells its length. */
  keep(): number;
}

/** Between the lines of one event: in JSON as good as the line end it stands for, and fit to be sent as one line. */
const LINE_JOIN = new TextEncoder().encode(" ");

/** Joins the data lines of an event (nearly always one, which is handed over where it stands). */
export function createEventJoiner(event: Span, comment: Span): EventJoiner {
  let bytes: Uint8Array | undefined;
  let start = 0;
  let end = 0;
  let more: Uint8Array[] = [];
  let length = 0;
  return {
    comment,
    data(lineBytes: Uint8Array, lineStart: number, lineEnd: number) {
      length += lineEnd - lineStart + 1;
      if (bytes !== undefined) {
        more.push(LINE_JOIN, lineBytes.slice(lineStart, lineEnd));
        return;
      }
      bytes = lineBytes;
      start = lineStart;
      end = lineEnd;
    },
    dispatch() {
      const first = bytes;
      const rest = more;
      bytes = undefined;
      more = [];
      length = 0;
      if (first === undefined) return;
      if (rest.length === 0) return event(first, start, end);
      const whole = joinBytes([first.subarray(start, end), ...rest]);
      event(whole, 0, whole.length);
    },
    keep() {
      if (bytes === undefined) return 0;
      if (start !== 0 || end !== bytes.length || bytes.buffer.byteLength !== bytes.length)
        bytes = bytes.slice(start, end);
      start = 0;
      end = bytes.length;
      return length;
    },
  };
}
