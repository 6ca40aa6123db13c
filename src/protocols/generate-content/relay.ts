import { type ByteBuilder, createByteBuilder } from "../../core/bytes/byte-builder.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { GatewayError } from "../../core/errors.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { applyEdits, setMembers } from "../../core/json/json-splice.ts";
import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { addSpliced, DATA, END } from "../events.ts";
import { parseExact } from "../exact-json.ts";
import type { EventForm } from "../event-form.ts";
import type { AnswerContext, EventSpan, Metered, StreamSink, Verdict } from "../protocol.ts";
import { openRepeatWriter } from "../repeat-writer.ts";
import { streamOpener } from "../stream.ts";
import { encodeError } from "./error-body.ts";
import { type ChunkReader, openReader } from "./reader.ts";
import { CHUNK } from "./shape.ts";
import { encodeUsage } from "./usage.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const EMPTY_CANDIDATE = '{"content":{"role":"model","parts":[{"text":""}]},"index":0}';
/** A chunk that says nothing. */
export const KEEP_ALIVE = encoder.encode(`data: {"candidates":[${EMPTY_CANDIDATE}]}\n\n`);

/**
 * Relays a generateContent stream as events of data alone: no names, no comments, no end mark. Chunks keep their
 * bytes; what lacks a part is given an empty one, because clients forget the whole turn otherwise. The chunk that
 * ends the last candidate is held back: it is the end of the answer, and carries the last usage and the credit.
 */
export const openStream = streamOpener<ChunkReader>({
  event: "a chunk",
  hasDoneMark: false,
  // An image comes in one line; one longer than this is a fault of the provider.
  maxLineBytes: 32 * 1024 * 1024,
  shape: CHUNK,
  openReader,
  openRelay: (reader, context) => new ChunkRelay(reader, context),
  oddError: errorInList,
});

/** The chunk that ends the answer. */
interface HeldChunk {
  readonly chunk: Uint8Array;
  readonly hasContent: boolean;
  /** The candidates in it. */
  readonly indexes: ReadonlySet<number>;
}

/** What the stage at work writes; a stage takes all of it before another one begins, so that all share its memory. */
const out = createByteBuilder(4096);

class ChunkRelay implements StreamSink {
  readonly keepAlive = KEEP_ALIVE;
  readonly #reader: ChunkReader;
  /** As JSON: what stands as `modelVersion`, where that is not the provider's own word. */
  readonly #model: string | undefined;
  #held: HeldChunk | undefined;

  constructor(reader: ChunkReader, { isFallback = false, model }: AnswerContext) {
    this.#reader = reader;
    this.#model = isFallback ? JSON.stringify(model) : undefined;
  }

  event(span: Readonly<EventSpan>, verdict: Verdict): void {
    if (this.#model !== undefined) nameModel(this.#model);
    if (CHUNK.content.on && this.#held?.hasContent === true) this.#giveHeld(this.#held);
    if (verdict === "hold") this.#hold(span);
    else if (CHUNK.told.length === 0) send(setMembers(edited(span), { candidates: `[${EMPTY_CANDIDATE}]` }));
    else if (this.#reader.endsAgain) send(withoutReasons(edited(span)));
    else if (CHUNK.edits.length > 0) send(edited(span));
    else emit(out, span);
  }

  repeat({ bytes, start, end }: Readonly<EventSpan>, form: EventForm, wholeStart: number) {
    const span = { bytes, start, end };
    return openRepeatWriter(form, bytes, wholeStart, (into) => emit(into, span), out);
  }

  take(): Uint8Array | undefined {
    return out.take();
  }

  tail(metered: Metered, credit: MicroCredits): Uint8Array {
    const last = this.#held?.chunk ?? encoder.encode(`{"candidates":[${EMPTY_CANDIDATE}]}`);
    const { blocked, usageText: told } = this.#reader;
    // A usage without counts is the provider's word on a blocked prompt.
    const isCounted = metered.flags.includes("estimated") && !blocked;
    const usage =
      told === undefined || isCounted || metered.flags.includes("clamped")
        ? JSON.stringify(encodeUsage(metered.usage))
        : told;
    const named = this.#model === undefined ? undefined : { modelVersion: this.#model };
    // What the chunk has already stays where it is.
    const said = setMembers(last, { ...named, usageMetadata: usage, credit: creditsText(credit) });
    return joinBytes([DATA, said, END]);
  }

  failureTail(error: GatewayError, _metered: Metered, credit: MicroCredits | undefined): Uint8Array {
    const held = this.#held;
    const rest = held?.hasContent === true ? [DATA, withoutReasons(held.chunk), END] : [];
    const charge = credit === undefined ? "" : `,"credit":${creditsText(credit)}`;
    const text = JSON.stringify(encodeError(error)).slice(0, -1);
    return joinBytes([...rest, encoder.encode(`data: ${text}${charge}}\n\n`)]);
  }

  #hold(span: Readonly<EventSpan>): void {
    if (this.#held !== undefined) send(this.#held.chunk);
    const indexes = new Set(CHUNK.told.filter((_, i) => i % 2 === 0));
    this.#held = { chunk: edited(span), hasContent: CHUNK.content.on, indexes };
  }

  /**
   * More of a candidate comes after its end: what the held chunk says goes out before it, and its finish reasons stay
   * to the end.
   */
  #giveHeld({ chunk, indexes }: HeldChunk): void {
    if (!CHUNK.told.some((index, i) => i % 2 === 0 && indexes.has(index))) return;
    send(withoutReasons(chunk));
    this.#held = { chunk: reasonsOf(chunk), hasContent: false, indexes };
  }
}

function send(chunk: Uint8Array): void {
  out.add(DATA);
  out.add(chunk);
  out.add(END);
}

/** The chunk that was seen last is to say that `model`, JSON, gave it; of one that names none the last chunk tells. */
function nameModel(model: string): void {
  const { start, end } = CHUNK.modelVersion;
  if (start !== -1) CHUNK.edits.push({ start, end, text: model });
}

/** The chunk as clients need it. */
function edited({ bytes, start, end }: Readonly<EventSpan>): Uint8Array {
  const edits = [...CHUNK.edits];
  for (let i = 0; i < CHUNK.cuts.length; i += 2)
    edits.push({ start: CHUNK.cuts[i] as number, end: CHUNK.cuts[i + 1] as number, text: "" });
  edits.sort((a, b) => a.start - b.start);
  return applyEdits(bytes.subarray(0, end), edits).slice(start);
}

function emit(into: ByteBuilder, span: Readonly<EventSpan>): void {
  into.add(DATA);
  addSpliced(into, span, CHUNK.cuts);
  into.add(END);
}

/** The error of a list of one, as some servers of this vendor send it. */
function errorInList(text: string): unknown {
  const value = text.trimStart().startsWith("[") ? parseExact(text) : undefined;
  const first: unknown = Array.isArray(value) ? value[0] : undefined;
  return isJsonObject(first) ? first.error : undefined;
}

/** The chunk without its finish reasons. */
function withoutReasons(chunk: Uint8Array): Uint8Array {
  return withCandidates(chunk, ({ finishReason: _reason, ...rest }) => rest);
}

/** The chunk with its finish reasons, and without all else that its candidates say. */
function reasonsOf(chunk: Uint8Array): Uint8Array {
  return withCandidates(chunk, ({ finishReason, finishMessage, index }) => ({
    content: { role: "model", parts: [{ text: "" }] },
    finishReason,
    finishMessage,
    index,
  }));
}

function withCandidates(chunk: Uint8Array, change: (candidate: JsonObject) => JsonObject): Uint8Array {
  const value = parseExact(decoder.decode(chunk));
  const candidates = isJsonObject(value) && Array.isArray(value.candidates) ? value.candidates : [];
  const changed = candidates.map((each: unknown) => (isJsonObject(each) ? change(each) : each));
  return setMembers(chunk, { candidates: JSON.stringify(changed) });
}
