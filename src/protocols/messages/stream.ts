import { joinBytes } from "../../core/bytes.ts";
import { createByteBuilder } from "../../core/byte-builder.ts";
import { creditsText, type MicroCredits } from "../../core/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import { setMembers, withoutMembers } from "../../core/json-splice.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { inputTokens, NO_USAGE, outputTokens } from "../../core/usage.ts";
import { type CountedText, countedTokens, withCountedOutput } from "../counted-text.ts";
import { createEventReader, isDoneMark } from "../event-reader.ts";
import type { AnswerContext, Metered, RelayStream } from "../protocol.ts";
import { readErrorObject } from "../refusal.ts";
import { errorObject } from "./error-body.ts";
import { createEventScanner, type EventFacts } from "./event-scan.ts";
import { encodeUsage, readUsage } from "./usage.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const EVENT = encoder.encode("event: ");
const DATA = encoder.encode("data: ");
const THEN_DATA = encoder.encode("\ndata: ");
const END = encoder.encode("\n\n");
const COLON = encoder.encode(":");
/** A page or a document that the provider fetched comes in one event, so a line may be long; beyond this it is a fault. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const PING = encoder.encode('event: ping\ndata: {"type": "ping"}\n\n');
const MESSAGE_STOP = encoder.encode('{"type":"message_stop"}');

/**
 * Relays a messages stream: its events keep their bytes but for `model` in `message_start`, and each has its name
 * again. `message_delta` and `message_stop` are held back until the charge is known: the first carries `credit`, and
 * an event `credit` stands between them.
 */
export function openStream(context: AnswerContext): RelayStream {
  const out = createByteBuilder(4096);
  const scanner = createEventScanner();
  const seen: CountedText = { ascii: 0, wide: 0 };
  const repairs = new Set<string>();
  const state: StreamState = {
    atEnd: false,
    began: false,
    isDone: false,
    hasContent: false,
    hasStopped: false,
    chunks: 0,
    searches: 0,
    foundBytes: 0,
    hasUnread: false,
    rereads: 0,
    rereadBytes: 0,
    told: {},
    held: [],
  };

  const fail = (message: string): void => {
    state.failure ??= new GatewayError("upstream_error", message);
  };

  /** An event that the end of the stream cut is no fault of its own: whether the answer is whole decides. */
  const failCut = (message: string): void => {
    if (!state.atEnd) fail(message);
  };

  const emit = (bytes: Uint8Array, start: number, end: number): void => {
    const { typeStart, typeEnd } = scanner.facts;
    if (isPlainWord(bytes, typeStart, typeEnd)) {
      out.add(EVENT);
      out.add(bytes, typeStart + 1, typeEnd - 1);
      out.add(THEN_DATA);
    } else out.add(DATA);
    out.add(bytes, start, end);
    out.add(END);
  };

  const noteUsage = (value: unknown): void => {
    if (!isJsonObject(value)) return;
    const given = Object.entries(value).filter(([, count]) => count !== null);
    state.told = { ...state.told, ...Object.fromEntries(given) };
  };

  const begin = (bytes: Uint8Array, start: number, end: number): void => {
    const { messageStart } = scanner.facts;
    if (messageStart === -1) return fail("The provider began an answer without a message.");
    if (state.began) return fail("The provider began an answer twice.");
    state.began = true;
    const event: JsonObject = JSON.parse(decoder.decode(bytes.subarray(start, end)));
    const message = event.message as JsonObject;
    noteUsage(message.usage);
    if (!isJsonObject(message.usage)) repairs.add("start_usage");
    if (message.model === undefined) repairs.add("start_model");
    const changed = setMembers(bytes.slice(messageStart, scanner.facts.messageEnd), {
      model: JSON.stringify(context.model),
      ...(isJsonObject(message.usage)
        ? {}
        : { usage: JSON.stringify({ input_tokens: context.expectedInput, output_tokens: 0 }) }),
    });
    const { messageEnd } = scanner.facts;
    const whole = joinBytes([bytes.slice(start, messageStart), changed, bytes.slice(messageEnd, end)]);
    scanner.scan(whole, 0, whole.length);
    emit(whole, 0, whole.length);
  };

  const give = (bytes: Uint8Array, start: number, end: number): void => {
    const { facts } = scanner;
    if (!state.began) return fail("The provider sent content before its message began.");
    if (state.hasStopped) return fail("The provider sent content after its message had stopped.");
    // A delta that gives no reason to stop is no end: it keeps its place.
    if (state.held.length > 0) for (const early of state.held.splice(0)) out.add(early);
    seen.ascii += facts.ascii;
    seen.wide += facts.wide;
    if (facts.hasSearch) state.searches += 1;
    noteFound(state, facts);
    if (facts.hasContent) state.hasContent = true;
    emit(bytes, start, end);
  };

  const hold = (bytes: Uint8Array, start: number, end: number): void => {
    const { facts } = scanner;
    if (facts.usageStart !== -1) {
      const usage: JsonObject = JSON.parse(decoder.decode(bytes.subarray(facts.usageStart, facts.usageEnd)));
      noteUsage(usage);
      if (typeof usage.output_tokens === "number") state.countedAtUsage = { ...seen };
    }
    if (facts.hasStopReason) state.hasStopped = true;
    const before = out.take();
    emit(bytes, start, end);
    state.held.push(out.take() as Uint8Array);
    state.lastDelta = bytes.slice(start, end);
    if (before !== undefined) out.add(before);
  };

  const noteError = (bytes: Uint8Array): void => {
    // An error after the reason to stop takes nothing away from the answer.
    if (state.hasStopped) return;
    const { errorStart, errorEnd } = scanner.facts;
    const error: unknown =
      errorStart === -1 ? undefined : JSON.parse(decoder.decode(bytes.subarray(errorStart, errorEnd)));
    state.failure ??= readErrorObject(error, context);
  };

  const relayEvent = (received: Uint8Array, from: number, to: number): void => {
    if (state.isDone || state.failure !== undefined) return;
    if (isDoneMark(received, from, to)) {
      state.isDone = true;
      return;
    }
    scanner.scan(received, from, to);
    const { facts } = scanner;
    if (!facts.valid) return failCut("The provider sent an event that is not JSON.");
    if (facts.kind === "ping") {
      // A credit in it is that of another gateway.
      if (facts.hasCredit) return;
      return emit(received, from, to);
    }
    state.chunks += 1;
    switch (facts.kind) {
      case "message_start":
        return begin(received, from, to);
      case "content_block_start":
      case "content_block_delta":
      case "content_block_stop":
        return give(received, from, to);
      case "message_delta":
        return hold(received, from, to);
      case "message_stop":
        state.isDone = true;
        state.stop = received.slice(from, to);
        return;
      case "error":
        return noteError(received);
      case "other":
        if (facts.typeStart === -1) return fail("The provider sent an event without a type.");
        return emit(received, from, to);
    }
  };

  const reader = createEventReader(
    (bytes, start, end) => {
      if (context.padding.length === 0) return relayEvent(bytes, start, end);
      const trimmed = withoutMembers(bytes.slice(start, end), context.padding);
      relayEvent(trimmed, 0, trimmed.length);
    },
    (bytes, start, end) => {
      if (state.isDone || state.failure !== undefined) return;
      out.add(COLON);
      out.add(bytes, start, end);
      out.add(END);
    },
    MAX_LINE_BYTES,
  );

  return {
    push(bytes) {
      if (!reader.push(bytes)) fail("The provider sent an event that is too long.");
      return out.take();
    },
    end() {
      state.atEnd = true;
      reader.end();
      return out.take();
    },
    get hasContent() {
      return state.hasContent;
    },
    get chunks() {
      return state.chunks;
    },
    get isDone() {
      return state.isDone;
    },
    get isComplete() {
      return state.began && state.hasStopped;
    },
    get failure() {
      return state.failure;
    },
    get repairs() {
      return [...repairs];
    },
    metered: () => meteredSoFar(state, seen, context),
    tail: (metered, credit) =>
      joinBytes([
        ...state.held.slice(0, -1),
        lastDelta(state, metered, credit),
        creditEvent(credit),
        encoder.encode("event: message_stop\ndata: "),
        state.stop ?? MESSAGE_STOP,
        END,
      ]),
    failureTail: (error, _metered, credit) =>
      joinBytes([
        ...(credit === undefined ? [] : [creditEvent(credit)]),
        encoder.encode(
          `event: error\ndata: ${JSON.stringify({ type: "error", error: errorObject(error) })}\n\n`,
        ),
      ]),
    keepAlive: PING,
  };
}

interface StreamState {
  /** Upstream has ended. */
  atEnd: boolean;
  /** `message_start` has come. */
  began: boolean;
  isDone: boolean;
  hasContent: boolean;
  /** The reason to stop has come. */
  hasStopped: boolean;
  chunks: number;
  /** Web searches whose findings have come. */
  searches: number;
  /** Bytes of what was found by then, whether the model has yet to read the last of it, and all that it read anew. */
  foundBytes: number;
  hasUnread: boolean;
  rereads: number;
  rereadBytes: number;
  /** Usage as upstream has told it so far: later counts replace earlier ones. */
  told: JsonObject;
  /** Text that had come when a `message_delta` told the output; absent while only the start has. */
  countedAtUsage?: CountedText;
  failure?: GatewayError;
  /** Each `message_delta` as it is to be sent, and the last one's data. */
  readonly held: Uint8Array[];
  lastDelta?: Uint8Array;
  /** The data of `message_stop`. */
  stop?: Uint8Array;
}

/** Bytes of a search's findings behind one token of input; recorded are 2.9 to 3.3. */
const BYTES_PER_FOUND_TOKEN = 3.2;

/** The block after something that was found says that the model has read it, and all before it once more. */
function noteFound(state: StreamState, { foundBytes, kind }: EventFacts): void {
  if (foundBytes > 0) {
    state.foundBytes += foundBytes;
    state.hasUnread = true;
  } else if (state.hasUnread && kind === "content_block_start") {
    state.hasUnread = false;
    state.rereads += 1;
    state.rereadBytes += state.foundBytes;
  }
}

/** Whether a span is a quoted word that can stand in an `event` line. */
function isPlainWord(bytes: Uint8Array, start: number, end: number): boolean {
  if (start === -1 || bytes[start] !== 0x22 || end - start < 3) return false;
  for (let i = start + 1; i < end - 1; i += 1) {
    const byte = bytes[i] as number;
    const isWord = (byte >= 0x61 && byte <= 0x7a) || byte === 0x5f || (byte >= 0x30 && byte <= 0x39);
    if (!isWord && byte !== 0x2e && byte !== 0x2d) return false;
  }
  return true;
}

/**
 * What upstream said, and our own count of text that came after it said so: the start tells the input and next to
 * nothing of the output.
 */
function meteredSoFar(state: StreamState, seen: CountedText, context: AnswerContext): Metered {
  const metered = readUsage({ output_tokens: 0, ...state.told });
  const counted = countedTokens(seen);
  const missing = typeof state.told.input_tokens !== "number";
  if (metered === undefined || missing) {
    const usage = { ...(metered?.usage ?? NO_USAGE), input: context.expectedInput };
    const output = Math.max(usage.output, counted);
    return { usage: { ...usage, output }, flags: ["estimated"] };
  }
  const said = outputTokens(metered.usage);
  if (state.countedAtUsage === undefined) {
    const searched = Math.max(metered.usage.webSearches ?? 0, state.searches);
    // The start tells the first reading only; what was read after each search is billed as well.
    const reread =
      state.rereads * inputTokens(metered.usage) + Math.ceil(state.rereadBytes / BYTES_PER_FOUND_TOKEN);
    const usage = {
      ...metered.usage,
      input: metered.usage.input + reread,
      ...(searched === 0 ? {} : { webSearches: searched }),
    };
    const rest = withCountedOutput({ usage, flags: metered.flags }, Math.max(0, counted - said));
    return rest.flags.includes("estimated") ? rest : { ...rest, flags: [...rest.flags, "estimated"] };
  }
  if (said === 0) return withCountedOutput(metered, counted);
  const { ascii, wide } = state.countedAtUsage;
  return withCountedOutput(metered, countedTokens({ ascii: seen.ascii - ascii, wide: seen.wide - wide }));
}

/** The last `message_delta` with the charge in it, and with usage that can be where upstream's cannot. */
function lastDelta({ lastDelta: data }: StreamState, metered: Metered, credit: MicroCredits): Uint8Array {
  const event = setMembers(data ?? encoder.encode('{"type":"message_delta","delta":{"stop_reason":null}}'), {
    ...(metered.flags.length === 0 ? {} : { usage: JSON.stringify(encodeUsage(metered.usage)) }),
    credit: creditsText(credit),
  });
  return joinBytes([encoder.encode("event: message_delta\ndata: "), event, END]);
}

function creditEvent(credit: MicroCredits): Uint8Array {
  return encoder.encode(`event: credit\ndata: {"type":"ping","credit":${creditsText(credit)}}\n\n`);
}
