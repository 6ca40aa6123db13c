import { type ByteBuilder, createByteBuilder } from "../../core/bytes/byte-builder.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { MicroCredits } from "../../core/money/credits.ts";
import { addComment, addSpliced, DATA, END } from "../events.ts";
import type { EventForm } from "../event-form.ts";
import type { AnswerContext, EventSpan, Metered, StreamSink, Verdict } from "../protocol.ts";
import { openRepeatWriter } from "../repeat-writer.ts";
import { streamOpener } from "../stream.ts";
import { type ChunkReader, openReader, type ToldUsage } from "./reader.ts";
import { createChunkRepairs } from "./repairs.ts";
import { CHUNK } from "./shape.ts";
import { brokenTail, DONE_EVENT, finishChunks, KEEP_ALIVE, usageChunk } from "./tail.ts";
import { encodeUsage } from "./usage.ts";

const encoder = new TextEncoder();
const OPEN = 0x7b;
const MODEL_MEMBER = encoder.encode('{"model":');
const COMMA = encoder.encode(",");

/**
 * Relays a chat completions stream. A native provider's chunks keep their bytes but for `model` and documented
 * padding; those of a compatible one pass the named repairs. Usage chunks and `[DONE]` are held back: the tail
 * (usage, credit, `[DONE]`) is ours.
 */
export const openStream = streamOpener<ChunkReader>({
  event: "a chunk",
  hasDoneMark: true,
  shape: CHUNK,
  openReader,
  openRelay: (reader, context) => new ChunkRelay(reader, context),
  openRepairs: createChunkRepairs,
});

/** What the stage at work writes; a stage takes all of it before another one begins, so that all share its memory. */
const out = createByteBuilder(4096);

class ChunkRelay implements StreamSink {
  readonly keepAlive = KEEP_ALIVE;
  readonly #reader: ChunkReader;
  readonly #model: string;
  /** The last usage chunk, ready to be sent. */
  #held: { readonly told: ToldUsage | undefined; readonly chunk: Uint8Array | undefined } | undefined;

  constructor(reader: ChunkReader, context: AnswerContext) {
    this.#reader = reader;
    this.#model = context.model;
  }

  event(span: Readonly<EventSpan>, verdict: Verdict): void {
    if (verdict === "hold") this.#hold(span);
    else this.#emit(out, span, CHUNK.cuts);
  }

  repeat({ bytes, start, end }: Readonly<EventSpan>, form: EventForm, wholeStart: number) {
    const span = { bytes, start, end };
    return openRepeatWriter(form, bytes, wholeStart, (into) => this.#emit(into, span, CHUNK.cuts), out);
  }

  comment(bytes: Uint8Array, start: number, end: number): void {
    addComment(out, bytes, start, end);
  }

  take(): Uint8Array | undefined {
    return out.take();
  }

  tail(metered: Metered, credit: MicroCredits): Uint8Array {
    const { head, told } = this.#reader;
    const usage = usageText(told, metered);
    const held = this.#held;
    const isHeld = held !== undefined && held.told === told && usage === told?.text;
    return joinBytes([
      encoder.encode(missingFinish(this.#reader)),
      (isHeld ? held.chunk : undefined) ?? encoder.encode(usageChunk(head, usage)),
      encoder.encode(usageChunk(head, usage, credit) + DONE_EVENT),
    ]);
  }

  failureTail(error: GatewayError, metered: Metered, credit: MicroCredits | undefined): Uint8Array {
    return encoder.encode(brokenTail(this.#reader.head, this.#reader.choices, error, metered, credit));
  }

  #emit(into: ByteBuilder, span: Readonly<EventSpan>, cuts: readonly number[]): void {
    const model = encoder.encode(JSON.stringify(this.#model));
    into.add(DATA);
    if (CHUNK.model.start !== -1) addSpliced(into, span, cuts, CHUNK.model, model);
    else {
      into.add(MODEL_MEMBER);
      into.add(model);
      into.add(COMMA);
      const start = span.bytes.indexOf(OPEN, span.start) + 1;
      addSpliced(into, { ...span, start }, cuts);
    }
    into.add(END);
  }

  /** The chunk keeps its usage. */
  #hold(span: Readonly<EventSpan>): void {
    const { cuts, usage } = CHUNK;
    const at = cuts.findIndex((to, i) => i % 2 === 1 && usage.start < to) - 1;
    const apart = createByteBuilder();
    this.#emit(apart, span, cuts.toSpliced(at, 2));
    this.#held = { told: this.#reader.told, chunk: apart.take() };
  }
}

/** Upstream's own usage text where it is whole and unclamped, else ours. */
function usageText(told: ToldUsage | undefined, metered: Metered): string {
  if (told?.isPlain === true && metered.flags.length === 0) return told.text;
  return JSON.stringify(encodeUsage(metered.usage));
}

/**
 * `[DONE]` came for choices that never got a finish reason. The mark says that they are whole, and clients need
 * the reason, so it is added.
 */
function missingFinish({ head, choices, calledTool }: ChunkReader): string {
  const open = [...choices.values()].some((finished) => !finished);
  return open ? finishChunks(head, choices, calledTool ? "tool_calls" : "stop") : "";
}
