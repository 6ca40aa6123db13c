import { GatewayError } from "../core/errors.ts";
import { createEventReader, type EventReader, isDoneMark } from "./events.ts";
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
import { openRepeats, type RepeatReader } from "./repeats.ts";
import { scanEvent, type Shape, valueAt, withCuts } from "./scan.ts";

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
  /** Repairs that reader and relay made. */
  readonly noted: Set<string>;
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

const NOTHING = new Uint8Array(0);
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Opens streams of a format: bytes are framed and scanned once, the reader judges each event, and the sink writes what
 * the client gets. The sink is the relay's unless another is given.
 */
export function streamOpener<R extends StreamReader>(format: StreamFormat<R>): RelayProtocol["openStream"] {
  return (context, into) => {
    const repairs = context.native ? undefined : format.openRepairs?.();
    const stream: StreamState & RelayStream = {
      chunks: 0,
      hasContent: false,
      isDone: false,
      atEnd: false,
      endTold: false,
      failure: undefined,
      noted: new Set(),
      push(bytes) {
        try {
          if (!events.push(bytes)) fail(stream, "The provider sent an event that is too long.");
          return sink.take();
        } catch (error) {
          // Streams share what they write into: nothing of this one may stay there.
          sink.take();
          throw error;
        }
      },
      end(told) {
        stream.atEnd = true;
        try {
          events.end();
        } catch (error) {
          sink.take();
          throw error;
        }
        stream.endTold = told;
        return sink.take();
      },
      get isComplete() {
        return reader.isComplete;
      },
      get repairs() {
        return [...(repairs?.applied() ?? []), ...stream.noted];
      },
      metered: () => reader.metered(),
      tail: (metered, credit) => sink.tail(metered, credit),
      failureTail: (error, metered, credit) => sink.failureTail(error, metered, credit),
      get keepAlive() {
        return sink.keepAlive;
      },
    };
    const reader = format.openReader(stream, context);
    const sink = into ?? format.openRelay(reader, context);
    const events = openEvents({ format, context, state: stream, reader, sink, repairs });
    return stream;
  };
}

interface StreamParts {
  readonly format: Omit<StreamFormat<never>, "openReader" | "openRelay">;
  readonly context: AnswerContext;
  readonly state: StreamState;
  readonly reader: StreamReader;
  readonly sink: StreamSink;
  readonly repairs: EventRepairs | undefined;
}

/** Cuts bytes into events, and hands each to the scanner, the reader and the sink. */
function openEvents({ format, context, state, reader, sink, repairs }: StreamParts): EventReader {
  const { shape } = format;
  const root = withCuts(shape.root, context.padding, shape.cuts);
  const span: EventSpan = { bytes: NOTHING, start: 0, end: 0 };
  const cut = context.padding
    .flatMap((name) => root.members?.[name] ?? [])
    .filter(({ cuts }) => cuts !== undefined);
  const repeats = openRepeats(state, reader, sink, cut);

  /** An error that comes after the answer's end takes nothing away from it. */
  const noteError = (error: unknown): void => {
    if (!reader.isComplete) state.failure ??= readErrorObject(error, context);
  };

  /** An event that is no JSON object. */
  const seeOther = (bytes: Uint8Array, start: number, end: number): void => {
    if (isDoneMark(bytes, start, end) && (format.hasDoneMark || reader.isComplete)) {
      if (format.hasDoneMark) state.isDone = true;
      return;
    }
    const error = format.oddError?.(decoder.decode(bytes.subarray(start, end)));
    if (error !== undefined) return noteError(error);
    // An event that the end of the stream cut is no fault of its own: whether the answer is whole decides.
    if (!state.atEnd) fail(state, `The provider sent ${format.event} that is not JSON.`);
  };

  const see = (bytes: Uint8Array, start: number, end: number): Verdict => {
    if (!scanEvent(shape, root, bytes, start, end)) {
      seeOther(bytes, start, end);
      return "drop";
    }
    span.bytes = bytes;
    span.start = start;
    span.end = end;
    const verdict = reader.see(span);
    if (shape.error.start === -1) {
      if (verdict !== "drop") sink.event(span, verdict);
      return verdict;
    }
    noteError(valueAt(bytes, shape.error));
    return "drop";
  };

  const seeRepaired = ({ apply }: EventRepairs, bytes: Uint8Array, start: number, end: number): void => {
    const text = decoder.decode(bytes.subarray(start, end));
    const repaired = apply(text);
    if (repaired === undefined) return seeOther(bytes, start, end);
    for (const each of repaired) {
      const changed = each === text ? undefined : encoder.encode(each);
      if (changed === undefined) see(bytes, start, end);
      else see(changed, 0, changed.length);
    }
  };

  const hasEnded = (): boolean => state.isDone || state.failure !== undefined;
  return createEventReader(
    {
      event(bytes, start, end, wholeStart, wholeEnd) {
        repeats.forget();
        if (hasEnded()) return;
        if (repairs !== undefined) seeRepaired(repairs, bytes, start, end);
        else if (see(bytes, start, end) === "pass" && wholeStart !== -1)
          repeats.learn(span, { start: wholeStart, end: wholeEnd });
        // Else a silent stream would keep what it read last.
        span.bytes = NOTHING;
      },
      comment(bytes, start, end) {
        if (!hasEnded()) sink.comment?.(bytes, start, end);
      },
      take: repeats.take,
    },
    format.maxLineBytes,
  );
}

function fail(state: StreamState, message: string): void {
  state.failure ??= new GatewayError("upstream_error", message);
}
