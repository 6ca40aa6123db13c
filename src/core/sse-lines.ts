import { joinBytes } from "./bytes/bytes.ts";

/** Told of what a stream of server-sent events holds. Offsets are into `bytes` and good only during the call. */
export interface SseVisitor {
  /** The value of one `data` line of an event: all of it when `last`, else more lines of the same event follow. */
  data(bytes: Uint8Array, start: number, end: number): void;
  /** A comment line, without its colon. */
  comment(bytes: Uint8Array, start: number, end: number): void;
  /** A blank line after at least one `data` line. */
  dispatch(): void;
}

/** Cuts bytes into lines of server-sent events. */
export interface SseLines {
  /** Takes the next bytes; `false` when a line is longer than the limit, after which the stream is unusable. */
  push(bytes: Uint8Array): boolean;
  /** No more bytes come: hands over a last line that has no line end. */
  end(): void;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const EMPTY = new Uint8Array(0);

/**
 * A line reader for the event stream format (WHATWG HTML, section 9.2): LF, CRLF and CR end a line, a byte order
 * mark is skipped, fields other than `data` are ignored. It keeps at most one unfinished line.
 */
export function createSseLines(visitor: SseVisitor, maxLineBytes: number): SseLines {
  let rest: Uint8Array = EMPTY;
  let afterCr = false;
  let first = true;
  let hasData = false;

  const line = (bytes: Uint8Array, start: number, end: number): void => {
    if (first) {
      first = false;
      if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3;
    }
    if (end === start) {
      if (hasData) visitor.dispatch();
      hasData = false;
    } else if (bytes[start] === COLON) {
      visitor.comment(bytes, start + 1, end);
    } else if (isData(bytes, start, end)) {
      const from = bytes[start + 5] === SPACE ? start + 6 : start + 5;
      hasData = true;
      visitor.data(bytes, bytes[start + 4] === COLON ? from : end, end);
    }
  };

  return {
    push(incoming) {
      let bytes = incoming;
      let from = 0;
      if (afterCr && bytes.length > 0) {
        // The CR ended its line; an LF that follows belongs to it, even when it comes with the next bytes.
        if (bytes[0] === LF) from = 1;
        afterCr = false;
      }
      if (rest.length > 0) {
        bytes = joinBytes([rest, incoming.subarray(from)]);
        from = 0;
        rest = EMPTY;
      }
      let cr = bytes.indexOf(CR, from);
      for (;;) {
        const lf = bytes.indexOf(LF, from);
        const end = cr === -1 ? lf : lf === -1 ? cr : Math.min(cr, lf);
        if (end === -1) break;
        line(bytes, from, end);
        from = end + 1;
        if (end === cr) {
          if (from === bytes.length) afterCr = true;
          else if (bytes[from] === LF) from += 1;
          cr = bytes.indexOf(CR, from);
        }
      }
      if (bytes.length - from > maxLineBytes) return false;
      // A copy: the runtime may reuse the bytes it gave.
      rest = bytes.slice(from);
      return true;
    },
    end() {
      line(rest, 0, rest.length);
      rest = EMPTY;
      // The last event need not have its blank line.
      line(EMPTY, 0, 0);
    },
  };
}

/** Whether the line is a `data` field: `data:…`, or the bare word. */
function isData(bytes: Uint8Array, start: number, end: number): boolean {
  return (
    bytes[start] === 0x64 &&
    bytes[start + 1] === 0x61 &&
    bytes[start + 2] === 0x74 &&
    bytes[start + 3] === 0x61 &&
    (start + 4 === end || bytes[start + 4] === COLON)
  );
}
