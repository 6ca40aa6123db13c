import { readBodyFraming, readChunkSize, readHead, readHeaderLines } from "./http-grammar.ts";
import type { RequestHead } from "./http-grammar.ts";

/** What the bytes so far have completed. After `bad` the reader reads nothing more. */
export type ReaderEvent =
  | { readonly kind: "head"; readonly head: RequestHead }
  | { readonly kind: "body"; readonly bytes: Uint8Array }
  | { readonly kind: "end" }
  | { readonly kind: "bad"; readonly reason: string };

/** Bounds of what a reader takes. */
export interface ReaderLimits {
  readonly maxHeadBytes: number;
  readonly maxBodyBytes: number;
}

/** A strict HTTP/1.1 request reader without I/O: bytes in, cut anywhere, events out. */
export interface HttpReader {
  push(bytes: Uint8Array): ReaderEvent[];
}

type State =
  | { readonly at: "head" | "chunk-size" | "chunk-end" | "trailers" | "bad" }
  | { readonly at: "sized" | "chunk"; readonly left: number };

/** What one step did: the bytes it used, the state after it, the events it made; undefined when it needs more. */
interface Move {
  readonly used: number;
  readonly state: State;
  readonly events: readonly ReaderEvent[];
}

const DEFAULT_LIMITS: ReaderLimits = { maxHeadBytes: 64 * 1024, maxBodyBytes: 256 * 1024 * 1024 };
const END: ReaderEvent = { kind: "end" };

/** Makes a reader at the beginning of a connection; after each `end` it reads the next request. */
export function createHttpReader(limits: Partial<ReaderLimits> = {}): HttpReader {
  const bounds = { ...DEFAULT_LIMITS, ...limits };
  let state: State = { at: "head" };
  let rest: Buffer = Buffer.alloc(0);
  let bodyBytes = 0;

  const step = (): Move | undefined => {
    const move = nextMove(state, rest, bounds);
    if (move === undefined) return undefined;
    for (const event of move.events) {
      if (event.kind === "head") bodyBytes = 0;
      if (event.kind === "body") bodyBytes += event.bytes.length;
    }
    return bodyBytes > bounds.maxBodyBytes ? bad("the body is too large") : move;
  };

  return {
    push(bytes) {
      rest = rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([rest, bytes]);
      const events: ReaderEvent[] = [];
      for (let move = step(); move !== undefined; move = step()) {
        rest = rest.subarray(move.used);
        state = move.state;
        events.push(...move.events);
      }
      return events;
    },
  };
}

function nextMove(state: State, rest: Buffer, limits: ReaderLimits): Move | undefined {
  switch (state.at) {
    case "head":
      return takeHead(rest, limits);
    case "sized":
    case "chunk":
      return takeData(state.at, state.left, rest);
    case "chunk-size":
      return takeLine(rest, limits, takeChunkSize);
    case "chunk-end":
      return takeLine(rest, limits, (line) =>
        line === ""
          ? { used: 0, state: { at: "chunk-size" }, events: [] }
          : bad("a chunk is longer than its size"),
      );
    case "trailers":
      return takeLine(rest, limits, takeTrailer);
    default:
      return undefined;
  }
}

function takeHead(rest: Buffer, limits: ReaderLimits): Move | undefined {
  const end = rest.indexOf("\r\n\r\n");
  if (end > limits.maxHeadBytes || (end < 0 && rest.length > limits.maxHeadBytes))
    return bad("the head is too large");
  if (end < 0) return undefined;
  const head = readHead(rest.toString("latin1", 0, end));
  if (!head.ok) return bad(head.reason);
  const framing = readBodyFraming(head.value.headers);
  if (!framing.ok) return bad(framing.reason);
  const event: ReaderEvent = { kind: "head", head: head.value };
  const used = end + 4;
  if (framing.value === "chunked") return { used, state: { at: "chunk-size" }, events: [event] };
  if (framing.value === 0) return { used, state: { at: "head" }, events: [event, END] };
  return { used, state: { at: "sized", left: framing.value }, events: [event] };
}

function takeData(at: "sized" | "chunk", left: number, rest: Buffer): Move | undefined {
  if (rest.length === 0) return undefined;
  const used = Math.min(left, rest.length);
  const body: ReaderEvent = { kind: "body", bytes: rest.subarray(0, used) };
  if (used < left) return { used, state: { at, left: left - used }, events: [body] };
  if (at === "sized") return { used, state: { at: "head" }, events: [body, END] };
  return { used, state: { at: "chunk-end" }, events: [body] };
}

/** Hands over one whole line; the taker says what follows from it, the bytes used are counted here. */
function takeLine(rest: Buffer, limits: ReaderLimits, take: (line: string) => Move): Move | undefined {
  const end = rest.indexOf("\r\n");
  if (end < 0) return rest.length > limits.maxHeadBytes ? bad("a line is too long") : undefined;
  return { ...take(rest.toString("latin1", 0, end)), used: end + 2 };
}

function takeChunkSize(line: string): Move {
  const size = readChunkSize(line);
  if (!size.ok) return bad(size.reason);
  return {
    used: 0,
    state: size.value === 0 ? { at: "trailers" } : { at: "chunk", left: size.value },
    events: [],
  };
}

function takeTrailer(line: string): Move {
  if (line === "") return { used: 0, state: { at: "head" }, events: [END] };
  const trailer = readHeaderLines([line]);
  return trailer.ok ? { used: 0, state: { at: "trailers" }, events: [] } : bad(trailer.reason);
}

function bad(reason: string): Move {
  return { used: 0, state: { at: "bad" }, events: [{ kind: "bad", reason }] };
}
