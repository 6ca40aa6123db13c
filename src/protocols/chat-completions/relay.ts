import { type ByteBuilder, createByteBuilder } from "../../core/bytes/byte-builder.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import { addComment, addSpliced, DATA, END } from "../events.ts";
import type { AnswerContext, EventSpan, Metered, StreamSink } from "../protocol.ts";
import { openRepeatWriter } from "../repeat-writer.ts";
import { streamOpener } from "../stream.ts";
import { type ChunkReader, openReader, type ToldUsage } from "./reader.ts";
import { createChunkRepairs } from "./repairs.ts";
import { CHUNK } from "./shape.ts";
import { brokenTail, DONE_EVENT, finishChunks, KEEP_ALIVE, usageChunk } from "./tail.ts";
import { encodeUsage } from "./usage.ts";

const encoder = new TextEncoder();
const OPEN = 0x7b;

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
  openRelay,
  openRepairs: createChunkRepairs,
});

/** What the stage at work writes; a stage takes all of it before another one begins, so that all share its memory. */
const out = createByteBuilder(4096);

function openRelay(reader: ChunkReader, context: AnswerContext): StreamSink {
  const apart = createByteBuilder();
  const model = encoder.encode(JSON.stringify(context.model));
  const withModel = encoder.encode(`{"model":${JSON.stringify(context.model)},`);
  /** The last usage chunk, ready to be sent. */
  let held: { readonly told: ToldUsage | undefined; readonly chunk: Uint8Array | undefined } | undefined;

  const emit = (into: ByteBuilder, span: Readonly<EventSpan>, cuts: readonly number[]): void => {
    into.add(DATA);
    if (CHUNK.model.start !== -1) addSpliced(into, span, cuts, CHUNK.model, model);
    else {
      into.add(withModel);
      const start = span.bytes.indexOf(OPEN, span.start) + 1;
      addSpliced(into, { ...span, start }, cuts);
    }
    into.add(END);
  };

  /** The chunk keeps its usage. */
  const hold = (span: Readonly<EventSpan>): void => {
    const { cuts, usage } = CHUNK;
    const at = cuts.findIndex((to, i) => i % 2 === 1 && usage.start < to) - 1;
    emit(apart, span, cuts.toSpliced(at, 2));
    held = { told: reader.told, chunk: apart.take() };
  };

  return {
    event(span, verdict) {
      if (verdict === "hold") hold(span);
      else emit(out, span, CHUNK.cuts);
    },
    repeat: ({ bytes, start, end }, form, wholeStart) => {
      const span = { bytes, start, end };
      return openRepeatWriter(form, bytes, wholeStart, (into) => emit(into, span, CHUNK.cuts), out);
    },
    comment: (bytes, start, end) => addComment(out, bytes, start, end),
    take: () => out.take(),
    tail(metered, credit) {
      const { head, told } = reader;
      const usage = usageText(told, metered);
      const isHeld = held !== undefined && held.told === told && usage === told?.text;
      return joinBytes([
        encoder.encode(missingFinish(reader)),
        (isHeld ? held?.chunk : undefined) ?? encoder.encode(usageChunk(head, usage)),
        encoder.encode(usageChunk(head, usage, credit) + DONE_EVENT),
      ]);
    },
    failureTail: (error, metered, credit) =>
      encoder.encode(brokenTail(reader.head, reader.choices, error, metered, credit)),
    keepAlive: KEEP_ALIVE,
  };
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
