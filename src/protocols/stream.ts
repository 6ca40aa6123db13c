import { GatewayError } from "../core/errors.ts";
import type { MicroCredits } from "../core/money/credits.ts";
import { createEventReader, type EventReader, type EventVisitor, isDoneMark } from "./events.ts";
import type {
  AnswerContext,
  EventSpan,
  Metered,
  RelayProtocol,
  RelayStream,
  StreamSink,
  Verdict,
} from "./protocol.ts";
import { readErrorObject } from "./refusal.ts";
import { openRepeats, type RepeatReader, type Repeats } from "./repeats.ts";
import { type Place, scanEvent, type Shape, valueAt, withCuts } from "./scan.ts";

/** How a streamed answer stands, as in `RelayStream`. */
export interface StreamState {
  chunks: number;
  hasContent: boolean;
  isDone: boolean;
  /** Upstream has ended. */
  atEnd: boolean;
  /** Upstream has ended by its own word, not by a connection that closed. */
  endTold: boolean;
  failure: GatewayError | undefined;
  /** Notes a repair that reader or relay made. */
  note(repair: string): void;
}

/** Judges the events of one stream, by what the scan found in them, and counts what they give. */
export interface StreamReader extends RepeatReader {
  see(span: Readonly<EventSpan>): Verdict;
  /** Every choice that began has ended. */
  readonly isComplete: boolean;
  metered(): Metered;
}

/** Mends the events of a compatible provider before they are scanned. */
export interface EventRepairs {
  /** The events to read for one that came: itself when nothing was wrong; `undefined` when it is no JSON object. */
  apply(text: string): readonly string[] | undefined;
  /**
   * Takes the text of an event that differs from the last one in that alone; `undefined` where such an event may need
   * a repair.
   */
  readonly more: ((text: string) => void) | undefined;
  applied(): readonly string[];
}

/** How the streams of one format are read and relayed. */
export interface StreamFormat<R extends StreamReader> {
  /** What the format calls an event. */
  readonly event: "a chunk" | "an event";
  /** Whether `[DONE]` ends an answer. Where it does not it is left out after a whole one: gateways in front send it. */
  readonly hasDoneMark: boolean;
  readonly maxLineBytes?: number;
  readonly shape: Shape;
  openReader(state: StreamState, context: AnswerContext): R;
  openRelay(reader: R, context: AnswerContext): StreamSink;
  openRepairs?(): EventRepairs;
  /** The error in an event that is no JSON object, where the format has such. */
  oddError?(text: string): unknown;
}

/**
 * A stage writes comments and pings before the content up to so many bytes. The relay holds what it writes until content
 * comes, and a provider may send comments for minutes.
 */
const MOST_QUIET_BYTES = 4 * 1024;

/** Of what is written around each of them. */
const QUIET_FRAME_BYTES = 32;

const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The event that is seen. Streams take turns, so all share it. */
const SPAN: EventSpan = { bytes: NOTHING, start: 0, end: 0 };

/**
 * Opens streams of a format: bytes are framed and scanned once, the reader judges each event, and the sink writes what
 * the client gets. The sink is the relay's unless another is given.
 */
export function streamOpener<R extends StreamReader>(format: StreamFormat<R>): RelayProtocol["openStream"] {
  const padded = paddedBy(format.shape);
  return (context, into) => new Stage(format, context, padded(context.padding), into);
}

/** The places of a format's events, padding that is cut out among them. */
interface Padded {
  readonly root: Place;
  /** The padding. */
  readonly cut: readonly Place[];
}

/** A provider has the same list of padding for all its streams, so its places are made once. */
function paddedBy(shape: Shape): (padding: readonly string[]) => Padded {
  const known = new WeakMap<readonly string[], Padded>();
  return (padding) =>
    known.getOrInsertComputed(padding, () => {
      const root = withCuts(shape.root, padding, shape.cuts);
      const cut = padding.flatMap((name) => root.members?.[name] ?? []);
      return { root, cut: cut.filter(({ cuts }) => cuts !== undefined) };
    });
}

/** One stream, as one object: a closure for each of its steps would cost a silent stream several times as much memory. */
class Stage<R extends StreamReader> implements RelayStream, StreamState, EventVisitor {
  chunks = 0;
  hasContent = false;
  isDone = false;
  atEnd = false;
  endTold = false;
  failure: GatewayError | undefined;
  readonly #format: StreamFormat<R>;
  readonly #context: AnswerContext;
  readonly #root: Place;
  readonly #reader: R;
  readonly #sink: StreamSink;
  readonly #repairs: EventRepairs | undefined;
  readonly #events: EventReader;
  readonly #repeats: Repeats;
  #noted: Set<string> | undefined;
  /** Of comments and pings before the content. */
  #quietBytes = 0;

  constructor(
    format: StreamFormat<R>,
    context: AnswerContext,
    { root, cut }: Padded,
    into: StreamSink | undefined,
  ) {
    this.#format = format;
    this.#context = context;
    this.#root = root;
    this.#repairs = context.native ? undefined : format.openRepairs?.();
    const reader = format.openReader(this, context);
    const sink = into ?? format.openRelay(reader, context);
    this.#reader = reader;
    this.#sink = sink;
    this.#repeats = openRepeats({ state: this, reader, sink, cut });
    this.#events = createEventReader(this, format.maxLineBytes);
  }

  push(bytes: Uint8Array): Uint8Array | undefined {
    try {
      if (!this.#events.push(bytes)) this.#fail("The provider sent an event that is too long.");
    } catch (error) {
      // Streams share what they write into: nothing of this one may stay there.
      this.#sink.take();
      throw error;
    }
    return this.#sink.take();
  }

  end(told: boolean): Uint8Array | undefined {
    this.atEnd = true;
    try {
      this.#events.end();
    } catch (error) {
      this.#sink.take();
      throw error;
    }
    this.endTold = told;
    return this.#sink.take();
  }

  get isComplete(): boolean {
    return this.#reader.isComplete;
  }

  get repairs(): readonly string[] {
    return [...(this.#repairs?.applied() ?? []), ...(this.#noted ?? [])];
  }

  note(repair: string): void {
    (this.#noted ??= new Set()).add(repair);
  }

  metered(): Metered {
    return this.#reader.metered();
  }

  tail(metered: Metered, credit: MicroCredits): Uint8Array {
    return this.#sink.tail(metered, credit);
  }

  failureTail(error: GatewayError, metered: Metered, credit: MicroCredits | undefined): Uint8Array {
    return this.#sink.failureTail(error, metered, credit);
  }

  get keepAlive(): Uint8Array {
    return this.#sink.keepAlive;
  }

  event(bytes: Uint8Array, start: number, end: number, wholeStart: number, wholeEnd: number): void {
    this.#repeats.forget();
    if (this.#hasEnded()) return;
    const repairs = this.#repairs;
    const verdict =
      repairs === undefined ? this.#see(bytes, start, end) : this.#seeRepaired(repairs, bytes, start, end);
    const canRepeat = repairs === undefined || repairs.more !== undefined;
    if (verdict === "pass" && canRepeat && wholeStart !== -1)
      this.#repeats.learn(SPAN, { start: wholeStart, end: wholeEnd }, repairs?.more);
    // Else the bytes that were read last would be kept.
    SPAN.bytes = NOTHING;
  }

  comment(bytes: Uint8Array, start: number, end: number): void {
    if (!this.#hasEnded() && this.#isHeard(end - start)) this.#sink.comment?.(bytes, start, end);
  }

  take(bytes: Uint8Array, from: number): number {
    return this.#repeats.take(bytes, from);
  }

  /** Whether there is room for so many bytes that say nothing. */
  #isHeard(length: number): boolean {
    if (this.hasContent) return true;
    this.#quietBytes += length + QUIET_FRAME_BYTES;
    return this.#quietBytes <= MOST_QUIET_BYTES;
  }

  #hasEnded(): boolean {
    return this.isDone || this.failure !== undefined;
  }

  /** Scans an event, judges it, and hands it to the sink. */
  #see(bytes: Uint8Array, start: number, end: number): Verdict {
    const { shape } = this.#format;
    if (!scanEvent(shape, this.#root, bytes, start, end)) {
      this.#seeOther(bytes, start, end);
      return "drop";
    }
    SPAN.bytes = bytes;
    SPAN.start = start;
    SPAN.end = end;
    const { chunks } = this;
    let verdict = this.#reader.see(SPAN);
    // What is no chunk is a ping.
    if (chunks === this.chunks && !this.#isHeard(end - start)) verdict = "drop";
    if (shape.error.start === -1) {
      if (verdict !== "drop") this.#sink.event(SPAN, verdict);
      return verdict;
    }
    this.#noteError(valueAt(bytes, shape.error));
    return "drop";
  }

  /** Sees what an event is repaired to. */
  #seeRepaired(repairs: EventRepairs, bytes: Uint8Array, start: number, end: number): Verdict {
    const text = decoder.decode(bytes.subarray(start, end));
    const repaired = repairs.apply(text);
    if (repaired === undefined) this.#seeOther(bytes, start, end);
    let verdict: Verdict = "drop";
    for (const each of repaired ?? []) {
      const changed = each === text ? undefined : encoder.encode(each);
      verdict = changed === undefined ? this.#see(bytes, start, end) : this.#see(changed, 0, changed.length);
    }
    return verdict;
  }

  /** An event that is no JSON object. */
  #seeOther(bytes: Uint8Array, start: number, end: number): void {
    const { event, hasDoneMark, oddError } = this.#format;
    if (isDoneMark(bytes, start, end) && (hasDoneMark || this.#reader.isComplete)) {
      if (hasDoneMark) this.isDone = true;
      return;
    }
    const error = oddError?.(decoder.decode(bytes.subarray(start, end)));
    if (error !== undefined) return this.#noteError(error);
    // An event that the end of the stream cut is no fault of its own: whether the answer is whole decides.
    if (!this.atEnd) this.#fail(`The provider sent ${event} that is not JSON.`);
  }

  /** An error that comes after the answer's end takes nothing away from it. */
  #noteError(error: unknown): void {
    if (!this.#reader.isComplete) this.failure ??= readErrorObject(error, this.#context);
  }

  #fail(message: string): void {
    this.failure ??= new GatewayError("upstream_error", message);
  }
}
