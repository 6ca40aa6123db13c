import { createByteBuilder } from "../../core/bytes/byte-builder.ts";
import type { GatewayError } from "../../core/errors.ts";
import { setMembers } from "../../core/json/json-splice.ts";
import { type JsonObject, present } from "../../core/json/json-value.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { parseExact } from "../exact-json.ts";
import { addComment, addSpliced, DATA, END } from "../events.ts";
import type { AnswerContext, EventSpan, Metered, StreamSink, Verdict } from "../protocol.ts";
import { textAt, valueAt } from "../scan.ts";
import { streamOpener } from "../stream.ts";
import { failureEvents, failureObject } from "./failure.ts";
import { openReader, type ResponsesReader } from "./reader.ts";
import { EVENT } from "./shape.ts";
import { encodeUsage } from "./usage.ts";

/** A comment, which every client of the format skips. */
const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");

/**
 * Relays a Responses stream: its events keep their bytes but for the response object, in which `model` and what it repeats
 * of the request are the client's own. The last event is held back until the charge is known, and carries `credit`.
 */
export const openStream = streamOpener<ResponsesReader>({
  event: "an event",
  hasDoneMark: false,
  // The last event has the whole answer in it once more.
  maxLineBytes: 32 * 1024 * 1024,
  shape: EVENT,
  openReader,
  openRelay: (reader, context) => new ResponsesRelay(reader, context),
});

/** What the stage at work writes; a stage takes all of it before another one begins, so that all share its memory. */
const out = createByteBuilder(4096);

class ResponsesRelay implements StreamSink {
  readonly keepAlive = KEEP_ALIVE;
  readonly #reader: ResponsesReader;
  readonly #context: AnswerContext;
  /** Items that have ended, as they were told. */
  readonly #items: string[] = [];
  /** The response object as it was told first. */
  #begun: JsonObject | undefined;
  #lastNumber = -1;
  /** The last event, and where its response object stands. */
  #end: { readonly data: Uint8Array; readonly from: number; readonly to: number } | undefined;

  constructor(reader: ResponsesReader, context: AnswerContext) {
    this.#reader = reader;
    this.#context = context;
  }

  event(span: Readonly<EventSpan>, verdict: Verdict): void {
    const { bytes, start, end } = span;
    const { kind } = this.#reader;
    if (kind === "keepalive") {
      out.add(KEEP_ALIVE);
      return;
    }
    if (EVENT.number.start !== -1) this.#lastNumber = Number(textAt(bytes, EVENT.number));
    if (verdict === "hold") {
      const { response } = EVENT;
      this.#end = { data: bytes.slice(start, end), from: response.start - start, to: response.end - start };
      return;
    }
    if (kind === "response.output_item.done" && EVENT.item.start !== -1)
      this.#items.push(textAt(bytes, EVENT.item));
    out.add(headOf(bytes));
    if (EVENT.response.start === -1) addSpliced(out, span, EVENT.cuts);
    else {
      this.#begun ??= valueAt(bytes, EVENT.response) as JsonObject;
      const own = this.#withOwn(bytes.slice(EVENT.response.start, EVENT.response.end), {});
      addSpliced(out, span, EVENT.cuts, EVENT.response, own);
    }
    out.add(END);
  }

  repeat(): undefined {
    return undefined;
  }

  comment(bytes: Uint8Array, start: number, end: number): void {
    addComment(out, bytes, start, end);
  }

  take(): Uint8Array | undefined {
    return out.take();
  }

  tail(metered: Metered, credit: MicroCredits): Uint8Array {
    const held = this.#end;
    if (held === undefined || held.from < 0) throw new Error("The stream has not ended.");
    const { data, from, to } = held;
    const response = this.#withOwn(data.subarray(from, to), {
      ...this.#missingOutput(data.subarray(from, to)),
      ...(metered.flags.length === 0 ? {} : { usage: JSON.stringify(encodeUsage(metered.usage)) }),
      credit: creditsText(credit),
    });
    this.#context.keep?.(decoder.decode(response));
    const apart = createByteBuilder();
    apart.add(encoder.encode(`event: ${this.#reader.kind}\ndata: `));
    apart.add(data, 0, from);
    apart.add(response);
    apart.add(data, to, data.length);
    apart.add(END);
    return apart.take() ?? END;
  }

  failureTail(error: GatewayError, metered: Metered, credit: MicroCredits | undefined): Uint8Array {
    const words = failureObject(error);
    const { model, echo } = this.#context;
    const response = {
      ...(this.#begun ?? {
        id: `resp_${this.#context.requestId}`,
        object: "response",
        created_at: this.#context.nowSec,
      }),
      ...present({ model, ...echo }),
      status: "failed",
      error: words,
      output: this.#items.map(parseExact),
      usage: encodeUsage(metered.usage),
    };
    return encoder.encode(failureEvents(words, response, this.#lastNumber + 1, credit));
  }

  /** A response object with what is the gateway's, and the client's own, in it. */
  #withOwn(response: Uint8Array, more: Readonly<Record<string, string>>): Uint8Array {
    const { model, echo = {} } = this.#context;
    const echoed = Object.entries(echo).map(([name, value]) => [name, JSON.stringify(value)]);
    return setMembers(response, { model: JSON.stringify(model), ...Object.fromEntries(echoed), ...more });
  }

  /** Some servers end with an empty output, though they have told the items. */
  #missingOutput(response: Uint8Array): Readonly<Record<string, string>> {
    if (this.#items.length === 0) return {};
    const { output } = valueAt(response, { start: 0, end: response.length }) as JsonObject;
    const isEmpty = !Array.isArray(output) || output.length === 0;
    return isEmpty ? { output: `[${this.#items.join(",")}]` } : {};
  }
}

/** What stands before the data of an event: its type is its name. */
function headOf(bytes: Uint8Array): Uint8Array {
  const [, word] = /^"([a-z0-9_.]+)"$/.exec(EVENT.type.start === -1 ? "" : textAt(bytes, EVENT.type)) ?? [];
  if (word === undefined) return DATA;
  return heads.getOrInsertComputed(word, () => encoder.encode(`event: ${word}\ndata: `));
}

const heads = new Map<string, Uint8Array>();
const encoder = new TextEncoder();
const decoder = new TextDecoder();
