import { type ByteBuilder, createByteBuilder } from "../../core/bytes/byte-builder.ts";
import { joinBytes } from "../../core/bytes/bytes.ts";
import type { GatewayError } from "../../core/errors.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { setMembers } from "../../core/json/json-splice.ts";
import { addComment, addSpliced, DATA, END } from "../events.ts";
import type { EventForm } from "../event-form.ts";
import type { AnswerContext, EventSpan, Metered, StreamSink, Verdict } from "../protocol.ts";
import { openRepeatWriter } from "../repeat-writer.ts";
import { type Place, textAt } from "../scan.ts";
import { streamOpener } from "../stream.ts";
import { type EventKindReader, KINDS, openReader } from "./reader.ts";
import { EVENT } from "./shape.ts";
import { brokenTail, creditEvent, PING, STOP_DATA } from "./tail.ts";
import { encodeUsage } from "./usage.ts";

const encoder = new TextEncoder();
const eventHead = (type: string): Uint8Array => encoder.encode(`event: ${type}\ndata: `);
const HEADS = Object.fromEntries(KINDS.map((kind) => [kind, eventHead(kind)])) as Readonly<
  Record<(typeof KINDS)[number], Uint8Array>
>;
/** The most `message_delta` events that are held back: providers send one. */
const MOST_HELD = 8;
const MESSAGE_STOP = encoder.encode(STOP_DATA);

/**
 * Relays a messages stream: its events keep their bytes but for `model` in `message_start`, and each has its name
 * again. `message_delta` and `message_stop` are held back until the charge is known: the first carries `credit`, and
 * an event `credit` stands between them.
 */
export const openStream = streamOpener<EventKindReader>({
  event: "an event",
  hasDoneMark: true,
  // A page or a document that the provider fetched comes in one event; beyond this it is a fault.
  maxLineBytes: 32 * 1024 * 1024,
  shape: EVENT,
  openReader,
  openRelay: (reader, context) => new EventRelay(reader, context),
});

/** What the stage at work writes; a stage takes all of it before another one begins, so that all share its memory. */
const out = createByteBuilder(4096);

class EventRelay implements StreamSink {
  readonly keepAlive = PING;
  readonly #reader: EventKindReader;
  readonly #context: AnswerContext;
  /** Each `message_delta` as it is to be sent, the data of the last one, and of `message_stop`. */
  #held: Uint8Array[] = [];
  #lastDelta: Uint8Array | undefined;
  #stop: Uint8Array | undefined;

  constructor(reader: EventKindReader, context: AnswerContext) {
    this.#reader = reader;
    this.#context = context;
  }

  event(span: Readonly<EventSpan>, verdict: Verdict): void {
    const { kind } = this.#reader;
    if (verdict === "hold") return this.#hold(span);
    if (kind === "message_start") return this.#begin(span);
    // A delta that gives no reason to stop is no end: it keeps its place.
    if (this.#held.length > 0 && kind.startsWith("content_block")) {
      for (const early of this.#held) out.add(early);
      this.#held = [];
    }
    this.#emit(out, span);
  }

  repeat({ bytes, start, end }: Readonly<EventSpan>, form: EventForm, wholeStart: number) {
    const span = { bytes, start, end };
    return openRepeatWriter(form, bytes, wholeStart, (into) => this.#emit(into, span), out);
  }

  comment(bytes: Uint8Array, start: number, end: number): void {
    addComment(out, bytes, start, end);
  }

  take(): Uint8Array | undefined {
    return out.take();
  }

  tail(metered: Metered, credit: MicroCredits): Uint8Array {
    return joinBytes([
      ...this.#held.slice(0, -1),
      deltaWithCredit(this.#lastDelta, metered, credit),
      encoder.encode(creditEvent(credit)),
      HEADS.message_stop,
      this.#stop ?? MESSAGE_STOP,
      END,
    ]);
  }

  failureTail(error: GatewayError, _metered: Metered, credit: MicroCredits | undefined): Uint8Array {
    return encoder.encode(brokenTail(error, credit));
  }

  #emit(into: ByteBuilder, span: Readonly<EventSpan>, value?: Place, text?: Uint8Array): void {
    const { kind } = this.#reader;
    into.add(kind === "other" ? headOf(span.bytes, EVENT.type) : HEADS[kind]);
    addSpliced(into, span, EVENT.cuts, value, text);
    into.add(END);
  }

  #begin(span: Readonly<EventSpan>): void {
    const { message, messageUsage } = EVENT;
    const { model, expectedInput } = this.#context;
    const usage = JSON.stringify({ input_tokens: expectedInput, output_tokens: 0 });
    const changed = setMembers(span.bytes.slice(message.start, message.end), {
      model: JSON.stringify(model),
      ...(messageUsage.start === -1 ? { usage } : {}),
    });
    this.#emit(out, span, message, changed);
  }

  #hold(span: Readonly<EventSpan>): void {
    const apart = createByteBuilder();
    addSpliced(apart, span, EVENT.cuts);
    const data = apart.take();
    if (this.#reader.kind === "message_stop") this.#stop = data;
    else {
      this.#lastDelta = data;
      this.#emit(apart, span);
      this.#held.push(apart.take() ?? END);
      // Only the last waits for the charge; the others wait for what follows, and not without end.
      if (this.#held.length > MOST_HELD) out.add(this.#held.shift() as Uint8Array);
    }
  }
}

/** What stands before the data of an event whose type the relay does not know. */
function headOf(bytes: Uint8Array, type: Place): Uint8Array {
  const [, word] = /^"([a-z0-9_.-]+)"$/.exec(textAt(bytes, type)) ?? [];
  return word === undefined ? DATA : eventHead(word);
}

/** The last `message_delta` with the charge in it, and with usage that can be where upstream's cannot. */
function deltaWithCredit(data: Uint8Array | undefined, metered: Metered, credit: MicroCredits): Uint8Array {
  const event = setMembers(data ?? encoder.encode('{"type":"message_delta","delta":{"stop_reason":null}}'), {
    ...(metered.flags.length === 0 ? {} : { usage: JSON.stringify(encodeUsage(metered.usage)) }),
    credit: creditsText(credit),
  });
  return joinBytes([HEADS.message_delta, event, END]);
}
