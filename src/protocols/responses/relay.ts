import { createByteBuilder } from "../../core/bytes/byte-builder.ts";
import type { GatewayError } from "../../core/errors.ts";
import { setMembers } from "../../core/json/json-splice.ts";
import { filledText, type JsonObject, present } from "../../core/json/json-value.ts";
import { creditsText, type MicroCredits } from "../../core/money/credits.ts";
import { parseExact } from "../exact-json.ts";
import { addComment, addSpliced, DATA, END } from "../events.ts";
import type { AnswerContext, EventSpan, Metered, StreamSink, Verdict } from "../protocol.ts";
import { textAt, valueAt } from "../scan.ts";
import { streamOpener } from "../stream.ts";
import { failureEvents, failureObject } from "./failure.ts";
import { type EventKind, openReader, type ResponsesReader } from "./reader.ts";
import { EVENT } from "./shape.ts";
import { encodeUsage } from "./usage.ts";

/** A comment, which every client of the format skips. */
const KEEP_ALIVE = new TextEncoder().encode(": keep-alive\n\n");

/**
 * Relays a Responses stream. Its events keep their bytes but for the response object. There `model` and what it repeats
 * of the request are the client's own. A call whose arguments come at its end only gets them in a delta, too, and the
 * numbers behind it move on. The last event is held back until the charge is known, and carries `credit`.
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
  /** Calls whose arguments were told before their end, by their place in the output. */
  readonly #told = new Set<string>();
  /** Deltas that were put in. */
  #added = 0;
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
    if (EVENT.number.start !== -1) this.#lastNumber = Number(textAt(bytes, EVENT.number)) + this.#added;
    this.#tellArguments(span);
    if (verdict === "hold") {
      const { response } = EVENT;
      const data = this.#numbered(bytes.slice(start, end));
      // The number may have one digit more, and stand before the response object.
      const more = EVENT.number.start < response.start ? data.length - (end - start) : 0;
      this.#end = { data, from: response.start - start + more, to: response.end - start + more };
      return;
    }
    if (kind === "response.output_item.done" && EVENT.item.start !== -1)
      this.#items.push(textAt(bytes, EVENT.item));
    out.add(headOf(bytes));
    if (EVENT.response.start === -1) {
      if (this.#added === 0) addSpliced(out, span, EVENT.cuts);
      else out.add(this.#numbered(bytes.slice(start, end)));
    } else {
      this.#begun ??= valueAt(bytes, EVENT.response) as JsonObject;
      const own = this.#withOwn(bytes.slice(EVENT.response.start, EVENT.response.end), {});
      if (this.#added === 0) addSpliced(out, span, EVENT.cuts, EVENT.response, own);
      else out.add(this.#numbered(setMembers(bytes.slice(start, end), { response: decoder.decode(own) })));
    }
    out.add(END);
  }

  /** Some servers tell the arguments of a call at its end only, and some clients read nothing but deltas. */
  #tellArguments({ bytes, start, end }: Readonly<EventSpan>): void {
    const { kind } = this.#reader;
    if (!CALL_KINDS.has(kind)) return;
    const index = textAt(bytes, EVENT.outputIndex);
    if (this.#told.has(index)) return;
    if (kind === "response.function_call_arguments.delta") return void this.#told.add(index);
    const isOfItem = kind !== "response.function_call_arguments.done";
    if (isOfItem && EVENT.item.start === -1) return;
    const said = valueAt(bytes, isOfItem ? EVENT.item : { start, end }) as JsonObject;
    const given = filledText(said.arguments);
    if (given === undefined || (isOfItem && said.type !== "function_call")) return;
    this.#told.add(index);
    if (kind !== "response.output_item.added")
      this.#addDelta(index, isOfItem ? said.id : said.item_id, given);
  }

  #addDelta(index: string, itemId: unknown, delta: string): void {
    const type = "response.function_call_arguments.delta";
    const number = EVENT.number.start === -1 ? {} : { sequence_number: this.#lastNumber };
    const event = { type, item_id: itemId, output_index: Number(index), delta, ...number };
    out.add(encoder.encode(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`));
    this.#added += 1;
    this.#lastNumber += 1;
  }

  /** An event's data with the number that it has behind what was put in. */
  #numbered(data: Uint8Array): Uint8Array {
    if (this.#added === 0 || EVENT.number.start === -1) return data;
    return setMembers(data, { sequence_number: String(this.#lastNumber) });
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

/** Events of calls, and those of items that may be one. */
const CALL_KINDS: ReadonlySet<EventKind> = new Set<EventKind>([
  "response.output_item.added",
  "response.output_item.done",
  "response.function_call_arguments.delta",
  "response.function_call_arguments.done",
]);

/** What stands before the data of an event: its type is its name. */
function headOf(bytes: Uint8Array): Uint8Array {
  const [, word] = /^"([a-z0-9_.]+)"$/.exec(EVENT.type.start === -1 ? "" : textAt(bytes, EVENT.type)) ?? [];
  if (word === undefined) return DATA;
  return heads.getOrInsertComputed(word, () => encoder.encode(`event: ${word}\ndata: `));
}

const heads = new Map<string, Uint8Array>();
const encoder = new TextEncoder();
const decoder = new TextDecoder();
