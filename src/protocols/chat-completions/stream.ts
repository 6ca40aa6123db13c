import { joinBytes } from "../../core/bytes.ts";
import { createByteBuilder } from "../../core/byte-builder.ts";
import { GatewayError } from "../../core/errors.ts";
import { NO_USAGE, outputTokens } from "../../core/usage.ts";
import type { AnswerContext, Metered, RelayStream } from "../protocol.ts";
import { type CountedText, countedTokens, withCountedOutput } from "../counted-text.ts";
import { createEventReader, isDoneMark } from "../event-reader.ts";
import { createChunkScanner } from "./chunk-scan.ts";
import { createChunkRepairs } from "./repairs.ts";
import { readErrorObject } from "../refusal.ts";
import { type ChunkHead, DONE_EVENT, errorEvent, finishChunks, KEEP_ALIVE, usageChunk } from "./tail.ts";
import { encodeUsage, isPlainUsage, readUsage } from "./usage.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const DATA = encoder.encode("data: ");
const OPEN = 0x7b;
const END = encoder.encode("\n\n");
const COLON = encoder.encode(":");

/**
 * Relays a chat completions stream. A native provider's chunks keep their bytes but for `model` and documented
 * padding; those of a compatible one pass the named repairs. Usage chunks and `[DONE]` are held back: the tail
 * (usage, credit, `[DONE]`) is ours.
 */
export function openStream(context: AnswerContext): RelayStream {
  const out = createByteBuilder(4096);
  const model = encoder.encode(JSON.stringify(context.model));
  const withModel = encoder.encode(`{"model":${JSON.stringify(context.model)},`);
  const seen = { ascii: 0, wide: 0 };
  const openChoices = new Map<number, boolean>();
  const scanner = createChunkScanner(context.padding);
  const moved = new Set<string>();
  const repairs = context.native ? undefined : createChunkRepairs();
  const state: StreamState = { isDone: false, hasContent: false, atEnd: false, calledTool: false, chunks: 0 };

  const fail = (message: string): void => {
    state.failure ??= new GatewayError("upstream_error", message);
  };

  /** An event that the end of the stream cut is no fault of its own: whether the answer is whole decides. */
  const failCut = (message: string): void => {
    if (!state.atEnd) fail(message);
  };

  const allBegun = (): boolean => openChoices.size >= context.choices;

  const allFinished = (): boolean => {
    for (const finished of openChoices.values()) if (!finished) return false;
    return true;
  };

  const isComplete = (): boolean => allBegun() && allFinished();

  const noteUsage = (bytes: Uint8Array, start: number, end: number): boolean => {
    const text = decoder.decode(bytes.subarray(start, end));
    const metered = readUsage(JSON.parse(text));
    if (metered === undefined) return false;
    state.metered = metered;
    state.usageText = text;
    state.usageChunk = undefined;
    state.counted = { ...seen };
    return true;
  };

  /** The first that says something: Azure begins with a chunk whose id is empty and whose time is 0. */
  const noteNames = (bytes: Uint8Array): void => {
    const { idStart, idEnd, createdStart, createdEnd } = scanner.facts;
    if (state.idText === undefined && idStart !== -1) {
      const id = decoder.decode(bytes.subarray(idStart, idEnd));
      if (id !== '""' && id !== "null") state.idText = id;
    }
    if (state.createdText === undefined && createdStart !== -1) {
      const created = decoder.decode(bytes.subarray(createdStart, createdEnd));
      if (created !== "0" && created !== "null") state.createdText = created;
    }
  };

  /** Counts what a chunk gave, once it is known to be whole: one that the end of the stream cut counts for nothing. */
  const noteChoices = (): void => {
    const { choices, ascii, wide } = scanner.facts;
    if (scanner.facts.hasToolCall) state.calledTool = true;
    seen.ascii += ascii;
    seen.wide += wide;
    for (let i = 0; i < choices.length; i += 2) {
      const index = choices[i] as number;
      if (choices[i + 1] === 1 || !openChoices.has(index)) openChoices.set(index, choices[i + 1] === 1);
    }
  };

  /** One whole chunk, after repairs. */
  const relayChunk = (bytes: Uint8Array, start: number, end: number): void => {
    state.chunks += 1;
    scanner.scan(bytes, start, end);
    const { facts } = scanner;
    if (!facts.valid) return failCut("The provider sent a chunk that is not JSON.");
    if (facts.errorStart === -1) noteChoices();
    const gaveUsage = facts.usageStart !== -1 && noteUsage(bytes, facts.usageStart, facts.usageEnd);
    if (facts.errorStart !== -1) {
      // An error after every choice has ended takes nothing away from the answer.
      if (isComplete()) return;
      const error: unknown = JSON.parse(decoder.decode(bytes.subarray(facts.errorStart, facts.errorEnd)));
      state.failure ??= readErrorObject(error, context);
      return;
    }
    if (state.idText === undefined || state.createdText === undefined) noteNames(bytes);
    if (!facts.someChoice) {
      if (gaveUsage || facts.hasChoices) keepUsageChunk(bytes, start, end, gaveUsage);
      else fail("The provider sent a chunk without choices.");
      return;
    }
    if (facts.hasContent) state.hasContent = true;
    if (gaveUsage) moved.add("usage_beside_choices");
    emit(bytes, start, end);
  };

  /** A chunk without choices is sent with the tail when it carries usage; else it says nothing and goes on as it is. */
  const keepUsageChunk = (bytes: Uint8Array, start: number, end: number, gaveUsage: boolean): void => {
    if (!gaveUsage) return emit(bytes, start, end);
    // Clients read `choices` of every chunk: one without is made anew for the tail.
    if (!scanner.facts.hasChoices) return void moved.add("usage_chunk_choices");
    scanner.facts.cuts.splice(scanner.facts.usageCut, 2);
    const before = out.take();
    emit(bytes, start, end);
    state.usageChunk = out.take();
    if (before !== undefined) out.add(before);
  };

  const emit = (bytes: Uint8Array, start: number, end: number): void => {
    const { modelStart, modelEnd, cuts } = scanner.facts;
    out.add(DATA);
    let from = start;
    if (modelStart === -1) {
      // Clients are promised a model in every chunk.
      out.add(withModel);
      from = bytes.indexOf(OPEN, start) + 1;
      moved.add("chunk_model");
    }
    let modelPending = modelStart !== -1;
    for (let i = 0; i <= cuts.length; i += 2) {
      const cutStart = i < cuts.length ? (cuts[i] as number) : end;
      if (modelPending && modelStart < cutStart) {
        out.add(bytes, from, modelStart);
        out.add(model);
        from = modelEnd;
        modelPending = false;
      }
      out.add(bytes, from, cutStart);
      if (i < cuts.length) from = cuts[i + 1] as number;
    }
    out.add(END);
  };

  const relayEvent = (bytes: Uint8Array, start: number, end: number): void => {
    if (state.isDone || state.failure !== undefined) return;
    if (isDoneMark(bytes, start, end)) {
      state.isDone = true;
      return;
    }
    if (repairs === undefined) return relayChunk(bytes, start, end);
    const text = decoder.decode(bytes.subarray(start, end));
    const repaired = repairs.apply(text);
    if (repaired === undefined) return failCut("The provider sent a chunk that is not JSON.");
    for (const chunk of repaired) {
      if (chunk === text) relayChunk(bytes, start, end);
      else {
        const changed = encoder.encode(chunk);
        relayChunk(changed, 0, changed.length);
      }
    }
  };

  const reader = createEventReader(relayEvent, (bytes, start, end) => {
    if (state.isDone || state.failure !== undefined) return;
    out.add(COLON);
    out.add(bytes, start, end);
    out.add(END);
  });

  return {
    push(bytes) {
      if (!reader.push(bytes)) fail("The provider sent an event that is too long.");
      return out.take();
    },
    end() {
      state.atEnd = true;
      reader.end();
      return out.take();
    },
    get hasContent() {
      return state.hasContent;
    },
    get chunks() {
      return state.chunks;
    },
    get isDone() {
      return state.isDone;
    },
    get isComplete() {
      return isComplete() || (state.isDone && state.hasContent && (allBegun() || allFinished()));
    },
    get failure() {
      return state.failure;
    },
    get repairs() {
      return [...(repairs?.applied() ?? []), ...moved];
    },
    metered: () => meteredSoFar(state, seen, context),
    tail(metered, credit) {
      const usage = usageText(state, metered);
      const head = headOf(state, context);
      const last = missingFinish(head, openChoices, state.calledTool);
      const told =
        state.usageChunk !== undefined && usage === state.usageText
          ? state.usageChunk
          : encoder.encode(usageChunk(head, usage));
      return joinBytes([
        encoder.encode(last),
        told,
        encoder.encode(usageChunk(head, usage, credit) + DONE_EVENT),
      ]);
    },
    failureTail(error, metered, credit) {
      const usage = JSON.stringify(encodeUsage(metered.usage));
      const head = headOf(state, context);
      return encoder.encode(
        finishChunks(head, openChoices, "error") +
          usageChunk(head, usage) +
          (credit === undefined ? "" : usageChunk(head, usage, credit)) +
          errorEvent(error) +
          DONE_EVENT,
      );
    },
    keepAlive: KEEP_ALIVE,
  };
}

interface StreamState {
  isDone: boolean;
  hasContent: boolean;
  /** A tool call has come. */
  calledTool: boolean;
  chunks: number;
  /** Upstream has ended. */
  atEnd: boolean;
  failure?: GatewayError;
  metered?: Metered;
  /** Text that had come when usage was last told. */
  counted?: CountedText;
  /** The last usage as upstream wrote it. */
  usageText?: string;
  /** The last usage chunk, ready to be sent. */
  usageChunk?: Uint8Array | undefined;
  idText?: string;
  createdText?: string;
}

/**
 * What upstream said, and our own count of text that came after it said so: usage in the middle of an answer speaks
 * of its beginning only.
 */
function meteredSoFar(state: StreamState, seen: CountedText, context: AnswerContext): Metered {
  const { metered, counted } = state;
  if (metered === undefined || counted === undefined) {
    const output = countedTokens(seen);
    return { usage: { ...NO_USAGE, input: context.expectedInput, output }, flags: ["estimated"] };
  }
  const late = { ascii: seen.ascii - counted.ascii, wide: seen.wide - counted.wide };
  const silent = outputTokens(metered.usage) === 0;
  return withCountedOutput(metered, countedTokens(silent ? seen : late));
}

/** Upstream's own usage text where it is whole and unclamped, else ours. */
function usageText(state: StreamState, metered: Metered): string {
  if (
    state.usageText !== undefined &&
    metered.flags.length === 0 &&
    isPlainUsage(JSON.parse(state.usageText))
  ) {
    return state.usageText;
  }
  return JSON.stringify(encodeUsage(metered.usage));
}

function headOf(state: StreamState, context: AnswerContext): ChunkHead {
  return {
    id: state.idText ?? JSON.stringify(`chatcmpl-${context.requestId}`),
    created: state.createdText ?? context.nowSec,
    model: context.model,
  };
}

/**
 * `[DONE]` came for choices that never got a finish reason. The mark says that they are whole, and clients need
 * the reason, so it is added.
 */
function missingFinish(head: ChunkHead, choices: ReadonlyMap<number, boolean>, calledTool: boolean): string {
  const open = [...choices].some(([, finished]) => !finished);
  return open ? finishChunks(head, choices, calledTool ? "tool_calls" : "stop") : "";
}
