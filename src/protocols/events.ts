import type { ByteBuilder } from "../core/bytes/byte-builder.ts";
import { joinBytes } from "../core/bytes/bytes.ts";
import { createSseLines, type SseLines, type SseVisitor } from "../core/sse-lines.ts";
import type { EventSpan } from "./protocol.ts";
import type { Place } from "./scan.ts";

// The framing of server-sent events: a provider's, that are read, and a client's, that are written.

/** What a reader of events hands over what it finds to. Bytes are good during the call only. */
export interface EventVisitor {
  /**
   * The data of an event. `[wholeStart, wholeEnd)` is the whole event as it came; -1 where it does not stand in these
   * bytes in one piece.
   */
  event(bytes: Uint8Array, start: number, end: number, wholeStart: number, wholeEnd: number): void;
  /** A comment without its colon. */
  comment(bytes: Uint8Array, start: number, end: number): void;
  /** Takes whole events that it knows at `from`, where one begins; returns the offset after them. */
  take(bytes: Uint8Array, from: number): number;
}

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

/** A reader that hands each event and comment to `visitor`. */
export function createEventReader(visitor: EventVisitor, maxLineBytes = MAX_LINE_BYTES): EventReader {
  return new Events(visitor, maxLineBytes);
}

class Events implements EventReader, SseVisitor {
  readonly #visitor: EventVisitor;
  readonly #lines: SseLines;
  readonly #maxBytes: number;
  /** The first line of the event that is read: nearly always the only one, which is handed over where it stands. */
  #bytes: Uint8Array | undefined;
  #start = 0;
  #end = 0;
  /** Its further lines. */
  #more: Uint8Array[] | undefined;
  #length = 0;

  constructor(visitor: EventVisitor, maxLineBytes: number) {
    this.#visitor = visitor;
    this.#lines = createSseLines(this, maxLineBytes);
    this.#maxBytes = Math.max(MAX_EVENT_BYTES, maxLineBytes);
  }

  push(pushed: Uint8Array): boolean {
    if (!this.#lines.push(pushed)) return false;
    const bytes = this.#bytes;
    if (bytes === undefined) return true;
    // What waits for its blank line is copied: the bytes handed in are good for one call only.
    if (bytes.buffer.byteLength !== this.#end - this.#start) {
      this.#bytes = bytes.slice(this.#start, this.#end);
      this.#start = 0;
      this.#end = this.#bytes.length;
    }
    return this.#length <= this.#maxBytes;
  }

  end(): void {
    this.#lines.end();
  }

  data(bytes: Uint8Array, start: number, end: number): void {
    this.#length += end - start + 1;
    if (this.#bytes !== undefined) {
      (this.#more ??= []).push(LINE_JOIN, bytes.slice(start, end));
      return;
    }
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  comment(bytes: Uint8Array, start: number, end: number): void {
    this.#visitor.comment(bytes, start, end);
  }

  take(bytes: Uint8Array, from: number): number {
    return this.#visitor.take(bytes, from);
  }

  dispatch(wholeStart: number, wholeEnd: number): void {
    const first = this.#bytes;
    const more = this.#more;
    this.#bytes = this.#more = undefined;
    this.#length = 0;
    if (first === undefined) return;
    if (more === undefined) return this.#visitor.event(first, this.#start, this.#end, wholeStart, wholeEnd);
    const whole = joinBytes([first.subarray(this.#start, this.#end), ...more]);
    this.#visitor.event(whole, 0, whole.length, -1, -1);
  }
}

/** Between the lines of one event: in JSON as good as the line end it stands for, and fit to be sent as one line. */
const LINE_JOIN = new TextEncoder().encode(" ");

/** Whether the data of an event is the end mark of the format that has one. Other servers are seen to send it too. */
export function isDoneMark(bytes: Uint8Array, start: number, end: number): boolean {
  return bytes[start] !== OPEN_OBJECT && /^ *\[DONE\] *$/.test(decoder.decode(bytes.subarray(start, end)));
}

const OPEN_OBJECT = 0x7b;
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const COLON = encoder.encode(":");
/** What stands before the data of an event. */
export const DATA = encoder.encode("data: ");
/** What ends an event. */
export const END = encoder.encode("\n\n");

/** Adds a span to `out` without what `cuts` (pairs of from and to, in order) take out, and with `text` as one value. */
export function addSpliced(
  out: ByteBuilder,
  { bytes, start, end }: Readonly<EventSpan>,
  cuts: readonly number[],
  value?: Place,
  text?: Uint8Array,
): void {
  let from = start;
  let replaced = text === undefined ? undefined : value;
  for (let i = 0; i <= cuts.length; i += 2) {
    const cutStart = i < cuts.length ? (cuts[i] as number) : end;
    if (replaced !== undefined && text !== undefined && replaced.start < cutStart) {
      out.add(bytes, from, replaced.start);
      out.add(text);
      from = replaced.end;
      replaced = undefined;
    }
    out.add(bytes, from, cutStart);
    if (i < cuts.length) from = cuts[i + 1] as number;
  }
}

/** Adds a comment, of which `[start, end)` is what follows its colon. */
export function addComment(out: ByteBuilder, bytes: Uint8Array, start: number, end: number): void {
  out.add(COLON);
  out.add(bytes, start, end);
  out.add(END);
}
