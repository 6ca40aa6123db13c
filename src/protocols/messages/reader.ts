import { GatewayError } from "../../core/errors.ts";
import { keyIs } from "../../core/json/json-scan.ts";
import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import { inputTokens, NO_USAGE, outputTokens } from "../../core/money/usage.ts";
import { type AnswerCount, countText, openAnswerCount } from "../counted-text.ts";
import type { Variance } from "../event-form.ts";
import type { AnswerContext, EventSpan, Metered, Verdict } from "../protocol.ts";
import { readErrorObject } from "../refusal.ts";
import type { Repeated } from "../repeats.ts";
import { type Place, STRING, valueAt } from "../scan.ts";
import type { StreamReader, StreamState } from "../stream.ts";
import { EVENT } from "./shape.ts";
import { readUsage } from "./usage.ts";

const ascii = (word: string): Uint8Array => new TextEncoder().encode(`"${word}"`);

/** The events that the relay knows; all others pass as they are. */
export const KINDS = [
  "content_block_delta",
  "content_block_start",
  "content_block_stop",
  "ping",
  "message_start",
  "message_delta",
  "message_stop",
  "error",
] as const;

/** What an event is. */
export type EventKind = (typeof KINDS)[number] | "other";

const QUOTED_KINDS = KINDS.map((kind) => [kind, ascii(kind)] as const);
/** Blocks that begin empty and are filled by what follows. */
const EMPTY_STARTS = [ascii("text"), ascii("thinking")];
const SEARCH_RESULT = ascii("web_search_tool_result");
const FETCH_RESULT = ascii("web_fetch_tool_result");

/** What a stream has told of its usage, and what we counted beside it. */
const NOTHING = {
  /** Usage as upstream has told it so far: later counts replace earlier ones. */
  usage: {} as JsonObject,
  /** A `message_delta` has told the output, not the start alone. */
  hasOutput: false,
  /** Web searches whose findings have come. */
  searches: 0,
  /** Bytes of what was found by then, whether the model has yet to read the last of it, and all that it read anew. */
  foundBytes: 0,
  hasUnread: false,
  rereads: 0,
  rereadBytes: 0,
};
type Told = typeof NOTHING;

/** What the relay asks of the reader of a stream. */
export type EventKindReader = ReturnType<typeof openReader>;

/** A reader for one stream. */
export function openReader(state: StreamState, context: AnswerContext) {
  return new Reader(state, context);
}

class Reader implements StreamReader {
  /** What the event is that was seen last. */
  kind: EventKind = "other";
  readonly #state: StreamState;
  readonly #context: AnswerContext;
  readonly #count: AnswerCount;
  readonly #told = { ...NOTHING };
  #began = false;
  #hasStopped = false;

  constructor(state: StreamState, context: AnswerContext) {
    this.#state = state;
    this.#context = context;
    this.#count = openAnswerCount(context);
  }

  see({ bytes }: EventSpan): Verdict {
    this.kind = kindOf(bytes);
    if (this.kind !== "ping") this.#state.chunks += 1;
    return this.#judge(bytes);
  }

  variance(bytes: Uint8Array): Variance | undefined {
    if (this.kind !== "content_block_delta" || !isTextAlone()) return undefined;
    return { text: this.#count.keepBeside({ ...EVENT, bytes }) };
  }

  again({ events, text }: Repeated): void {
    this.#count.addRepeated(text, events);
  }

  get isComplete(): boolean {
    return this.#began && this.#hasStopped;
  }

  metered(): Metered {
    return meteredSoFar(this.#told, this.#count, this.#context);
  }

  #judge(bytes: Uint8Array): Verdict {
    const state = this.#state;
    switch (this.kind) {
      case "ping":
        // A credit in it is that of another gateway.
        return EVENT.credit.start === -1 ? "pass" : "drop";
      case "message_start":
        return this.#begin(bytes);
      case "content_block_start":
      case "content_block_delta":
      case "content_block_stop":
        return this.#give(bytes);
      case "message_delta":
        this.#noteUsage(bytes, EVENT.usage);
        if (EVENT.stopReason.start !== -1) this.#hasStopped = true;
        return "hold";
      case "message_stop":
        state.isDone = true;
        return "hold";
      case "error":
        // One that says no more is one all the same.
        if (EVENT.error.start === -1 && !this.#hasStopped)
          state.failure ??= readErrorObject(undefined, this.#context);
        return "drop";
      case "other":
        return EVENT.type.start === -1 ? this.#fail("The provider sent an event without a type.") : "pass";
    }
  }

  #begin(bytes: Uint8Array): Verdict {
    if (EVENT.message.start === -1) return this.#fail("The provider began an answer without a message.");
    if (this.#began) return this.#fail("The provider began an answer twice.");
    this.#began = true;
    this.#noteUsage(bytes, EVENT.messageUsage);
    if (EVENT.messageUsage.start === -1) this.#state.note("start_usage");
    if (EVENT.messageModel.start === -1) this.#state.note("start_model");
    return "pass";
  }

  #give(bytes: Uint8Array): Verdict {
    if (!this.#began) return this.#fail("The provider sent content before its message began.");
    if (this.#hasStopped) return this.#fail("The provider sent content after its message had stopped.");
    if (EVENT.block.start !== -1) noteBlock(this.#told, bytes);
    this.#count.add(EVENT.text);
    if (EVENT.content.on) this.#state.hasContent = true;
    return "pass";
  }

  #noteUsage(bytes: Uint8Array, at: Place): void {
    const value = at.start === -1 ? undefined : valueAt(bytes, at);
    if (!isJsonObject(value)) return;
    addUsage(this.#told, value);
    if (this.kind !== "message_delta" || typeof value.output_tokens !== "number") return;
    this.#told.hasOutput = true;
    this.#count.usageTold();
  }

  #fail(message: string): Verdict {
    this.#state.failure ??= new GatewayError("upstream_error", message);
    return "drop";
  }
}

/** Whether a delta begins no block as well, and its last text can be another one. */
function isTextAlone(): boolean {
  const { block, content, said } = EVENT;
  return block.start === -1 && content.on && said.kind === STRING;
}

/** An object with an error is an error, whatever it says that it is. */
function kindOf(bytes: Uint8Array): EventKind {
  const { type, error } = EVENT;
  if (error.start !== -1) return "error";
  if (type.start === -1) return "other";
  for (const [kind, quoted] of QUOTED_KINDS) if (keyIs(bytes, type.start, type.end, quoted)) return kind;
  return "other";
}

function addUsage(told: Told, value: JsonObject): void {
  const given = Object.entries(value).filter(([, count]) => count !== null);
  told.usage = { ...told.usage, ...Object.fromEntries(given) };
}

/** Counts what a block begins with. One that begins after something was found says that the model has read it. */
function noteBlock(told: Told, bytes: Uint8Array): void {
  const { block, blockType, input, content, text } = EVENT;
  const isType = (word: Uint8Array): boolean =>
    blockType.start !== -1 && keyIs(bytes, blockType.start, blockType.end, word);
  if (blockType.start !== -1 && !EMPTY_STARTS.some(isType)) content.on = true;
  if (input.start !== -1) countText(bytes, input.start, input.end, text);
  const isSearch = isType(SEARCH_RESULT);
  if (isSearch) told.searches += 1;
  if (isSearch || isType(FETCH_RESULT)) {
    told.foundBytes += block.end - block.start;
    told.hasUnread = true;
  } else if (told.hasUnread) {
    // It has read all that was found before once more, too.
    told.hasUnread = false;
    told.rereads += 1;
    told.rereadBytes += told.foundBytes;
  }
}

/** Bytes of a search's findings behind one token of input; recorded are 2.9 to 3.3. */
const BYTES_PER_FOUND_TOKEN = 3.2;

/**
 * What upstream said, and our own count of text that came after it said so. The start tells the input and next to
 * nothing of the output.
 */
function meteredSoFar(told: Told, count: AnswerCount, context: AnswerContext): Metered {
  const metered = readUsage({ output_tokens: 0, ...told.usage });
  const counted = count.total().output;
  const missing = typeof told.usage.input_tokens !== "number";
  if (metered === undefined || missing) {
    const usage = { ...(metered?.usage ?? NO_USAGE), input: context.expectedInput };
    const output = Math.max(usage.output, counted);
    return { usage: { ...usage, output }, flags: ["estimated"] };
  }
  if (told.hasOutput) return count.metered(metered);
  const searched = Math.max(metered.usage.webSearches ?? 0, told.searches);
  // The start tells the first reading only; what was read after each search is billed as well.
  const reread =
    told.rereads * inputTokens(metered.usage) + Math.ceil(told.rereadBytes / BYTES_PER_FOUND_TOKEN);
  const usage = {
    ...metered.usage,
    input: metered.usage.input + reread,
    output: metered.usage.output + Math.max(0, counted - outputTokens(metered.usage)),
    ...(searched === 0 ? {} : { webSearches: searched }),
  };
  return { usage, flags: [...new Set([...metered.flags, "estimated" as const])] };
}
