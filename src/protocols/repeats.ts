import type { ByteSpan } from "../core/bytes/bytes.ts";
import type { CountedText } from "./counted-text.ts";
import {
  type EventForm,
  formOf,
  MATCHED,
  matchedText,
  matchForm,
  placeIn,
  type Variance,
} from "./event-form.ts";
import type { EventSpan, StreamSink } from "./protocol.ts";
import type { RepeatWriter } from "./repeat-writer.ts";
import { type Place, STRINGS } from "./scan.ts";

// Most events of an answer are the one before them with another text. The reader does not scan such an event but
// compares it with the one before. It must have that one's fixed bytes, and what stands between them must be of the
// same kind.

/** What events in a row gave that repeat the one that was scanned before them. Good during one call only. */
export interface Repeated {
  events: number;
  /** Their texts. */
  readonly text: CountedText;
  bytes: Uint8Array;
  /** Where the object of numbers of the last one stands; `start` is -1 where there is none. */
  readonly numbers: { start: number; end: number };
}

/** What a reader knows of events that repeat the one that it saw last. */
export interface RepeatReader {
  /**
   * What may differ in the next event so that seeing it changes nothing but what is counted. `undefined` where the
   * event that was seen last did more.
   */
  variance(bytes: Uint8Array): Variance | undefined;
  /** Counts the texts of such events. */
  again(repeated: Repeated): void;
}

/** A larger event is scanned again: its form would be held for as long as the stream lasts. */
const MOST_BYTES = 8 * 1024;

/** Forms in a row that no event had again, after which a form is learned of few events only. */
const MOST_USELESS = 6;
const FEW = 16;

const NOTHING = new Uint8Array(0);

/** Filled for one call at a time, so that all streams share it. */
const REPEATED: Repeated = {
  events: 0,
  text: { ascii: 0, wide: 0 },
  bytes: NOTHING,
  numbers: { start: -1, end: -1 },
};

/** What the repeats of a stream belong to. */
interface RepeatParts {
  readonly state: { chunks: number; readonly failure: unknown };
  readonly reader: RepeatReader;
  readonly sink: StreamSink;
  /** The places of strings that are cut out. */
  readonly cut: readonly Place[];
}

/** Takes the events of one stream that repeat the one that was scanned last. */
export interface Repeats {
  /** Takes all that stand at `from` in a row; returns the offset after them. */
  take(bytes: Uint8Array, from: number): number;
  /**
   * Learns the form of the event at `whole`, which was just scanned, judged good, and written. `hear` is to be told the
   * text of each that repeats it.
   */
  learn(span: Readonly<EventSpan>, whole: ByteSpan, hear: ((text: string) => void) | undefined): void;
  /** Another event comes: what follows has to be held against that. */
  forget(): void;
}

/** Nothing was scanned yet. */
export function openRepeats(parts: RepeatParts): Repeats {
  return new KnownForm(parts);
}

class KnownForm implements Repeats {
  readonly #parts: RepeatParts;
  /** Of the event that was scanned last, where the next one can repeat it. */
  #form: EventForm | undefined;
  #writer: RepeatWriter | undefined;
  #hear: ((text: string) => void) | undefined;
  /** Where its numbers stand in it. */
  #numbers: ByteSpan | undefined;
  #hasCome = false;
  #useless = 0;
  #passed = 0;

  constructor(parts: RepeatParts) {
    this.#parts = parts;
  }

  take(bytes: Uint8Array, from: number): number {
    const form = this.#form;
    const writer = this.#writer;
    if (form === undefined || writer === undefined || bytes[from] !== form.bytes[0]) return from;
    const { state, reader } = this.#parts;
    if (state.failure !== undefined) return from;
    const { text } = REPEATED;
    text.ascii = text.wide = REPEATED.events = 0;
    let [last, at] = [from, from];
    while (at < bytes.length) {
      const end = matchForm(form, bytes, at);
      if (end === -1) break;
      writer.write(bytes, at, end);
      this.#hear?.(matchedText(form, bytes));
      text.ascii += MATCHED.textBytes - MATCHED.wide;
      text.wide += MATCHED.wide;
      REPEATED.events += 1;
      last = at;
      at = end;
    }
    if (REPEATED.events === 0) return from;
    this.#findNumbers(form, bytes, last, at);
    this.#hasCome = true;
    writer.flush(bytes);
    state.chunks += REPEATED.events;
    REPEATED.bytes = bytes;
    reader.again(REPEATED);
    REPEATED.bytes = NOTHING;
    return at;
  }

  learn(span: Readonly<EventSpan>, whole: ByteSpan, hear: ((text: string) => void) | undefined): void {
    if (whole.end - whole.start > MOST_BYTES || !this.#isWorthIt()) return;
    const { reader, sink, cut } = this.#parts;
    const variance = reader.variance(span.bytes);
    if (variance === undefined) return;
    const strings = cut.filter(({ kind, start }) => start !== -1 && (kind & STRINGS) !== 0);
    const form = formOf(span.bytes, whole, span.end, variance, strings);
    const writer = sink.repeat(span, form, whole.start);
    if (writer === undefined) {
      this.#useless += 1;
      return;
    }
    const { numbers } = variance;
    this.#form = form;
    this.#writer = writer;
    this.#hear = hear;
    this.#numbers = numbers && { start: numbers.start - whole.start, end: numbers.end - whole.start };
    this.#hasCome = false;
  }

  forget(): void {
    if (this.#form === undefined) return;
    this.#useless = this.#hasCome ? 0 : this.#useless + 1;
    this.#form = this.#writer = this.#hear = this.#numbers = undefined;
  }

  /** Learning costs as much as a scan. */
  #isWorthIt(): boolean {
    if (this.#useless <= MOST_USELESS) return true;
    this.#passed += 1;
    return this.#passed % FEW === 0;
  }

  /** Notes where the numbers stand in the last event, which begins at `from` and ends at `end`. */
  #findNumbers(form: EventForm, bytes: Uint8Array, from: number, end: number): void {
    const numbers = this.#numbers;
    REPEATED.numbers.start = -1;
    if (numbers === undefined) return;
    // An event that did not match came after it.
    if (end < bytes.length) matchForm(form, bytes, from);
    REPEATED.numbers.start = placeIn(form, from, numbers.start);
    REPEATED.numbers.end = placeIn(form, from, numbers.end);
  }
}
