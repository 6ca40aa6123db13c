import { joinBytes } from "./bytes/bytes.ts";

/** Told of what a stream of server-sent events holds. Offsets are into `bytes` and good only during the call. */
export interface SseVisitor {
  /** The value of one `data` line of an event. */
  data(bytes: Uint8Array, start: number, end: number): void;
  /** A comment line, without its colon. */
  comment(bytes: Uint8Array, start: number, end: number): void;
  /**
   * A blank line after at least one `data` line. `[start, end)` is the whole event with its blank line, in the bytes of
   * its last `data` line. Where the event does not stand there whole, or has a comment in it, `start` is -1.
   */
  dispatch(start: number, end: number): void;
  /**
   * Called at the start of a line where no event has begun. It takes whole events that it knows, and returns the offset
   * after them, or `from` where there are none.
   */
  take?(bytes: Uint8Array, from: number): number;
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
const NOT_SOUGHT = -2;

/**
 * A line reader for the event stream format (WHATWG HTML, section 9.2): LF, CRLF and CR end a line, a byte order
 * mark is skipped, fields other than `data` are ignored. It keeps at most one unfinished line.
 */
export function createSseLines(visitor: SseVisitor, maxLineBytes: number): SseLines {
  return new LineReader(visitor, maxLineBytes);
}

/** One object for each stream: closures would cost a silent stream several times as much memory. */
class LineReader implements SseLines {
  readonly #visitor: SseVisitor;
  readonly #maxLineBytes: number;
  /** The unfinished line, `#restLength` bytes of it. */
  #rest: Uint8Array = EMPTY;
  #restLength = 0;
  #afterCr = false;
  #isFirst = true;
  #hasData = false;
  /** Where the event begins whose lines are read, in the bytes at hand; -1 for one that does not stand there whole. */
  #eventStart = 0;

  constructor(visitor: SseVisitor, maxLineBytes: number) {
    this.#visitor = visitor;
    this.#maxLineBytes = maxLineBytes;
  }

  push(incoming: Uint8Array): boolean {
    let bytes = incoming;
    let from = 0;
    if (this.#afterCr && bytes.length > 0) {
      // The CR ended its line; an LF that follows belongs to it, even when it comes with the next bytes.
      if (bytes[0] === LF) from = 1;
      this.#afterCr = false;
    }
    if (this.#restLength > 0) {
      if (!hasLineEnd(incoming, from)) return this.#keep(incoming.subarray(from));
      // Of many events only the one that was cut is copied.
      const end = blankLineEnd(incoming, from);
      if (end !== -1 && end < incoming.length)
        return this.push(incoming.subarray(from, end)) && this.push(incoming.subarray(end));
      bytes = joinBytes([this.#rest.subarray(0, this.#restLength), incoming.subarray(from)]);
      from = 0;
      this.#letGo();
    }
    this.#eventStart = this.#eventStart === 0 ? from : -1;
    from = this.#readLines(bytes, from);
    if (bytes.length - from > this.#maxLineBytes) return false;
    // A copy: the runtime may reuse the bytes it gave.
    if (from < bytes.length) {
      this.#rest = bytes.slice(from);
      this.#restLength = this.#rest.length;
    }
    this.#eventStart = this.#eventStart === from ? 0 : -1;
    return true;
  }

  end(): void {
    this.#line(this.#rest, 0, this.#restLength, this.#restLength);
    this.#letGo();
    // The last event need not have its blank line.
    this.#line(EMPTY, 0, 0, 0);
  }

  /** Adds to the unfinished line. A line of megabytes comes in thousands of pieces: each is copied twice or so. */
  #keep(more: Uint8Array): boolean {
    const length = this.#restLength + more.length;
    if (length > this.#rest.length) {
      const room = new Uint8Array(Math.max(length, 2 * this.#rest.length));
      room.set(this.#rest.subarray(0, this.#restLength));
      this.#rest = room;
    }
    this.#rest.set(more, this.#restLength);
    this.#restLength = length;
    return length <= this.#maxLineBytes;
  }

  #letGo(): void {
    this.#rest = EMPTY;
    this.#restLength = 0;
  }

  /** Reads whole lines, and events that the visitor takes; returns the offset after them. */
  #readLines(bytes: Uint8Array, start: number): number {
    const visitor = this.#visitor;
    let from = start;
    let cr = NOT_SOUGHT;
    for (;;) {
      if (!this.#hasData && visitor.take !== undefined) {
        const after = visitor.take(bytes, from);
        if (after > from) this.#eventStart = from = after;
        if (from === bytes.length) return from;
      }
      if (cr !== -1 && cr < from) cr = bytes.indexOf(CR, from);
      const lf = bytes.indexOf(LF, from);
      const end = cr === -1 ? lf : lf === -1 ? cr : Math.min(cr, lf);
      if (end === -1) return from;
      let next = end + 1;
      if (end === cr) {
        if (next === bytes.length) this.#afterCr = true;
        else if (bytes[next] === LF) next += 1;
      }
      this.#line(bytes, from, end, next);
      from = next;
    }
  }

  /** Takes the line at `[start, end)`, after which the next one begins at `next`. */
  #line(bytes: Uint8Array, start: number, end: number, next: number): void {
    const visitor = this.#visitor;
    if (this.#isFirst) {
      this.#isFirst = false;
      if (bytes[start] === 0xef && bytes[start + 1] === 0xbb && bytes[start + 2] === 0xbf) start += 3;
    }
    if (end === start) {
      // A line feed may still follow a CR at the end of the bytes.
      const isWhole = next > end && bytes[next - 1] === LF;
      if (this.#hasData) visitor.dispatch(isWhole ? this.#eventStart : -1, next);
      this.#hasData = false;
      this.#eventStart = next;
    } else if (bytes[start] === COLON) {
      visitor.comment(bytes, start + 1, end);
      this.#eventStart = this.#hasData ? -1 : next;
    } else if (isData(bytes, start, end)) {
      const from = bytes[start + 5] === SPACE ? start + 6 : start + 5;
      this.#hasData = true;
      visitor.data(bytes, bytes[start + 4] === COLON ? from : end, end);
    }
  }
}

function hasLineEnd(bytes: Uint8Array, from: number): boolean {
  return bytes.indexOf(LF, from) !== -1 || bytes.indexOf(CR, from) !== -1;
}

/** The offset after the first blank line whose own end and the one before it are line feeds; -1 where there is none. */
function blankLineEnd(bytes: Uint8Array, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
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
