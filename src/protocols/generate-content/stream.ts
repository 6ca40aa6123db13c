import { createByteBuilder } from "../../core/byte-builder.ts";
import { joinBytes } from "../../core/bytes.ts";
import { creditsText } from "../../core/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import { memberName, openScan, readMembers } from "../../core/json-scan.ts";
import { applyEdits, type Edit, setMembers, spliceObject, withoutMembers } from "../../core/json-splice.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { AnswerContext, RelayStream } from "../protocol.ts";
import { createEventReader, isDoneMark } from "../event-reader.ts";
import { readErrorObject } from "../refusal.ts";
import { createChunkScanner } from "./chunk-scan.ts";
import { encodeError } from "./error-body.ts";
import { createStreamMeter } from "./stream-meter.ts";
import { encodeUsage } from "./usage.ts";

/** An image comes in one line, so a line may be long; one longer than this is a fault of the provider. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const DATA = encoder.encode("data: ");
const END = encoder.encode("\n\n");
const EMPTY_CANDIDATE = '{"content":{"role":"model","parts":[{"text":""}]},"index":0}';
const KEEP_ALIVE = encoder.encode(`data: {"candidates":[${EMPTY_CANDIDATE}]}\n\n`);

/**
 * Relays a generateContent stream as events of data alone: no names, no comments, no end mark. Chunks keep their
 * bytes; what lacks a part is given an empty one, because clients forget the whole turn otherwise. The chunk that
 * ends the last candidate is held back: it is the end of the answer, and carries the last usage and the credit.
 */
export function openStream(context: AnswerContext): RelayStream {
  const out = createByteBuilder(4096);
  const scanner = createChunkScanner(context.padding);
  const meter = createStreamMeter(context);
  const finished = new Map<number, boolean>();
  const repaired = new Set<string>();
  const state: StreamState = { blocked: false, hasContent: false, atEnd: false, endTold: false, chunks: 0 };

  const fail = (message: string): void => {
    state.failure ??= new GatewayError("upstream_error", message);
  };

  const allFinished = (): boolean => {
    for (const isFinished of finished.values()) if (!isFinished) return false;
    return true;
  };

  const isComplete = (): boolean => {
    if (state.blocked) return true;
    // A provider may make fewer than were asked for: those that have not begun by its own end never do.
    const most = state.endTold ? 1 : context.choices;
    return finished.size >= most && allFinished();
  };

  const send = (chunk: Uint8Array, start = 0, end = chunk.length): void => {
    out.add(DATA);
    out.add(chunk, start, end);
    out.add(END);
  };

  /** The chunk as clients need it, and without its finish reasons where they are not to be told yet. */
  const edited = (bytes: Uint8Array, start: number, end: number, unfinished: boolean): Uint8Array => {
    const { repairs, finishCuts, hasStale } = scanner.facts;
    if (repairs.length > 0) repaired.add("empty_part");
    const cuts = unfinished ? finishCuts : [];
    const kept = repairs.filter((edit) => !cuts.some((cut) => cut.text !== "" && isWithin(edit, cut)));
    const edits = [...kept, ...cuts]
      .sort((a, b) => a.start - b.start)
      .map((edit) => ({ start: edit.start - start, end: edit.end - start, text: edit.text }));
    const chunk = applyEdits(bytes.slice(start, end), edits);
    return hasStale ? withoutMembers(chunk, ["credit", ...context.padding]) : chunk;
  };

  const emit = (bytes: Uint8Array, start: number, end: number): void => {
    const { repairs, hasStale } = scanner.facts;
    if (repairs.length === 0 && !hasStale) return send(bytes, start, end);
    send(edited(bytes, start, end, false));
  };

  /** Notes which candidates have ended; tells whether one did that had not before, and whether one did again. */
  const noteCandidates = (): { readonly ends: boolean; readonly endsAgain: boolean } => {
    const { candidates } = scanner.facts;
    let ends = false;
    let endsAgain = false;
    for (let i = 0; i < candidates.length; i += 2) {
      const index = candidates[i] as number;
      const had = finished.get(index) === true;
      if (candidates[i + 1] === 1) {
        if (had) endsAgain = true;
        else ends = true;
      }
      finished.set(index, had || candidates[i + 1] === 1);
    }
    return { ends, endsAgain };
  };

  const hold = (bytes: Uint8Array, start: number, end: number): void => {
    if (state.held !== undefined) send(state.held.chunk);
    state.held = {
      chunk: edited(bytes, start, end, false),
      unfinished: edited(bytes, start, end, true),
      hasContent: scanner.facts.hasContent,
      indexes: new Set(scanner.facts.candidates.filter((_, i) => i % 2 === 0)),
    };
  };

  /**
   * More of a candidate comes after its end: what the held chunk says goes out before it, and its finish reasons stay
   * to the end.
   */
  const giveHeld = (): void => {
    const { held } = state;
    if (held === undefined || !held.hasContent) return;
    const { candidates } = scanner.facts;
    if (!candidates.some((index, i) => i % 2 === 0 && held.indexes.has(index))) return;
    send(held.unfinished);
    const chunk = withoutContent(held.chunk);
    state.held = { ...held, chunk, unfinished: chunk, hasContent: false };
  };

  const relayCandidates = (bytes: Uint8Array, start: number, end: number): void => {
    const { hasContent, hasNotes } = scanner.facts;
    if (hasContent) state.hasContent = true;
    const { ends, endsAgain } = noteCandidates();
    if (hasContent) giveHeld();
    if (ends && allFinished()) return hold(bytes, start, end);
    if (!endsAgain) return emit(bytes, start, end);
    // A reason that was given before is not given twice; what comes with it is part of the answer all the same.
    repaired.add("second_finish");
    if (hasContent || hasNotes || ends) send(edited(bytes, start, end, !ends));
  };

  const relayRest = (bytes: Uint8Array, start: number, end: number): void => {
    const { blocked, saysMore } = scanner.facts;
    if (blocked) {
      // The prompt was blocked: this chunk is the end of the answer, and often all of it.
      state.blocked = true;
      hold(bytes, start, end);
      return;
    }
    // Without candidates clients forget the turn. Usage is told by the last chunk.
    repaired.add("chunk_without_candidates");
    if (!saysMore) return;
    const chunk = edited(bytes, start, end, false);
    const members = readMembers(openScan(chunk)) ?? [];
    const none = members.filter((at) => memberName(chunk, at.keyStart, at.keyEnd) === "candidates");
    send(
      spliceObject(chunk, members, { remove: new Set(none), append: [`"candidates":[${EMPTY_CANDIDATE}]`] }),
    );
  };

  const relayError = (error: unknown): void => {
    // An error after every candidate has ended takes nothing away from the answer.
    if (!isComplete()) state.failure ??= readErrorObject(error, context);
  };

  const relayEvent = (bytes: Uint8Array, start: number, end: number): void => {
    if (state.blocked || state.failure !== undefined) return;
    state.chunks += 1;
    scanner.scan(bytes, start, end);
    const { facts } = scanner;
    if (!facts.valid) {
      // No part of this format, but gateways in front of it send one: to a whole answer it does nothing.
      if (isComplete() && isDoneMark(bytes, start, end)) return;
      const error = errorInList(decoder.decode(bytes.subarray(start, end)));
      if (error !== undefined) return relayError(error);
      // An event that the end of the stream cut is no fault of its own: whether the answer is whole decides.
      if (!state.atEnd) fail("The provider sent a chunk that is not JSON.");
      return;
    }
    if (facts.errorStart !== -1) {
      return relayError(JSON.parse(decoder.decode(bytes.subarray(facts.errorStart, facts.errorEnd))));
    }
    meter.note(facts, bytes);
    if (facts.someCandidate) relayCandidates(bytes, start, end);
    else relayRest(bytes, start, end);
  };

  const reader = createEventReader(relayEvent, () => {}, MAX_LINE_BYTES);

  return {
    push(bytes) {
      if (!reader.push(bytes)) fail("The provider sent an event that is too long.");
      return out.take();
    },
    end(told) {
      state.atEnd = true;
      reader.end();
      state.endTold = told;
      return out.take();
    },
    get hasContent() {
      return state.hasContent;
    },
    get chunks() {
      return state.chunks;
    },
    get isDone() {
      return state.blocked;
    },
    get isComplete() {
      return isComplete();
    },
    get failure() {
      return state.failure;
    },
    get repairs() {
      return [...repaired];
    },
    metered: () => (state.blocked ? meter.ofBlocked() : meter.metered()),
    tail(metered, credit) {
      const last = state.held?.chunk ?? encoder.encode(`{"candidates":[${EMPTY_CANDIDATE}]}`);
      const told = meter.usageText();
      // A usage without counts is the provider's word on a blocked prompt.
      const isCounted = metered.flags.includes("estimated") && !state.blocked;
      const usage =
        told === undefined || isCounted || metered.flags.includes("clamped")
          ? JSON.stringify(encodeUsage(metered.usage))
          : told;
      // Usage that the chunk has already stays where it is.
      return joinBytes([DATA, setMembers(last, { usageMetadata: usage, credit: creditsText(credit) }), END]);
    },
    failureTail(error, _metered, credit) {
      const rest = state.held?.hasContent === true ? [DATA, state.held.unfinished, END] : [];
      const charge = credit === undefined ? "" : `,"credit":${creditsText(credit)}`;
      const text = JSON.stringify(encodeError(error)).slice(0, -1);
      return joinBytes([...rest, encoder.encode(`data: ${text}${charge}}\n\n`)]);
    },
    keepAlive: KEEP_ALIVE,
  };
}

interface StreamState {
  /** The prompt was blocked: the answer has ended. */
  blocked: boolean;
  hasContent: boolean;
  chunks: number;
  /** Upstream has ended. */
  atEnd: boolean;
  /** By its own word, not by a connection that closed. */
  endTold: boolean;
  failure?: GatewayError;
  /** The chunk that ends the answer. */
  held?: {
    readonly chunk: Uint8Array;
    /** The same without a finish reason, for an answer that breaks after it. */
    readonly unfinished: Uint8Array;
    readonly hasContent: boolean;
    /** The candidates in it. */
    readonly indexes: ReadonlySet<number>;
  };
}

function isWithin(edit: Edit, outer: Edit): boolean {
  return edit.start >= outer.start && edit.end <= outer.end;
}

/** The error of a list of one, as some servers of this vendor send it. */
function errorInList(text: string): unknown {
  if (!text.trimStart().startsWith("[")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const first: unknown = Array.isArray(value) ? value[0] : undefined;
    return typeof first === "object" && first !== null && "error" in first ? first.error : undefined;
  } catch {
    return undefined;
  }
}

/** The candidates of a chunk with their finish reasons alone. */
function withoutContent(chunk: Uint8Array): Uint8Array {
  const { candidates } = JSON.parse(decoder.decode(chunk)) as { readonly candidates: readonly JsonObject[] };
  const ends = candidates.map(({ finishReason, finishMessage, index }) => ({
    content: { role: "model", parts: [{ text: "" }] },
    finishReason,
    finishMessage,
    index,
  }));
  const members = readMembers(openScan(chunk)) ?? [];
  const at = members.find((member) => memberName(chunk, member.keyStart, member.keyEnd) === "candidates");
  if (at === undefined) return chunk;
  return spliceObject(chunk, members, { replace: new Map([[at, JSON.stringify(ends)]]) });
}
