import type { ByteSpan } from "../core/bytes/bytes.ts";
import type { CountedText } from "./counted-text.ts";
import { type EventForm, formOf, matchForm, placeIn, type Variance } from "./event-form.ts";
import type { EventSpan, StreamSink } from "./protocol.ts";
import type { RepeatWriter } from "./repeat-writer.ts";
import { type Place, STRINGS } from "./scan.ts";

// Most events of an answer are the one before them with another text. Such an event is not scanned: it is compared with
// the one before, whose fixed bytes it must have, and what stands between them must be of the same kind.

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
   * What may differ in the next event so that seeing it changes nothing but what is counted; `undefined` where the event
   * that was seen last did more.
   */
  variance(bytes: Uint8Array): Variance | undefined;
  /** Counts the texts of such events. */
  again(repeated: Repeated): void;
}

/** Takes the events of one stream that repeat the one that was scanned last. */
export interface Repeats {
  /** Takes all that stand at `from` in a row; returns the offset after them. */
  take(bytes: Uint8Array, from: number): number;
  /** Learns the form of the event at `whole`, which was just scanned, judged good, and written. */
  learn(span: Readonly<EventSpan>, whole: ByteSpan): void;
  /** Another event comes: what follows has to be held against that. */
  forget(): void;
}

interface Known {
  readonly form: EventForm;
  readonly writer: RepeatWriter;
  /** In the form's own event. */
  readonly numbers: ByteSpan | undefined;
  hasCome: boolean;
}

/** A larger event is scanned again: its form would be held for as long as the stream lasts. */
const MOST_BYTES = 8 * 1024;

/** Forms in a row that no event had again, after which a form is learned of few events only. */
const MOST_USELESS = 6;
const FEW = 16;

const NOTHING = new Uint8Array(0);

/** `cut` are the places of strings that are cut out. */
export function openRepeats(
  state: { chunks: number; readonly failure: unknown },
  reader: RepeatReader,
  sink: StreamSink,
  cut: readonly Place[],
): Repeats {
  const repeated: Repeated = {
    events: 0,
    text: { ascii: 0, wide: 0 },
    bytes: NOTHING,
    numbers: { start: -1, end: -1 },
  };
  let known: Known | undefined;
  let useless = 0;
  let passed = 0;

  /** Learning costs as much as a scan. */
  const isWorthIt = (): boolean => {
    if (useless <= MOST_USELESS) return true;
    passed += 1;
    return passed % FEW === 0;
  };

  const open = (span: Readonly<EventSpan>, whole: ByteSpan, variance: Variance): void => {
    const strings = cut.filter(({ kind, start }) => start !== -1 && (kind & STRINGS) !== 0);
    const form = formOf(span.bytes, whole, span.end, variance, strings);
    const writer = sink.repeat(span, form, whole.start);
    if (writer === undefined) {
      useless += 1;
      return;
    }
    const { numbers } = variance;
    repeated.numbers.start = -1;
    known = {
      form,
      writer,
      numbers: numbers && { start: numbers.start - whole.start, end: numbers.end - whole.start },
      hasCome: false,
    };
  };

  return {
    take(bytes, from) {
      if (known === undefined || bytes[from] !== known.form.bytes[0] || state.failure !== undefined)
        return from;
      const { form, writer, numbers } = known;
      const { text } = repeated;
      text.ascii = text.wide = 0;
      let events = 0;
      let at = from;
      for (let end = matchForm(form, bytes, at); end !== -1; end = matchForm(form, bytes, at)) {
        writer.write(bytes, at, end);
        text.ascii += form.textBytes - form.wide;
        text.wide += form.wide;
        if (numbers !== undefined) {
          repeated.numbers.start = placeIn(form, at, numbers.start);
          repeated.numbers.end = placeIn(form, at, numbers.end);
        }
        events += 1;
        at = end;
      }
      if (events === 0) return from;
      known.hasCome = true;
      writer.flush(bytes);
      state.chunks += events;
      repeated.events = events;
      repeated.bytes = bytes;
      reader.again(repeated);
      repeated.bytes = NOTHING;
      return at;
    },
    learn(span, whole) {
      if (whole.end - whole.start > MOST_BYTES || !isWorthIt()) return;
      const variance = reader.variance(span.bytes);
      if (variance !== undefined) open(span, whole, variance);
    },
    forget() {
      if (known === undefined) return;
      useless = known.hasCome ? 0 : useless + 1;
      known = undefined;
    },
  };
}
