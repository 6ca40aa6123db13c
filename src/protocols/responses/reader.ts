import { keyIs } from "../../core/json/json-scan.ts";
import { isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import { type AnswerCount, type CountedText, countText, openAnswerCount } from "../counted-text.ts";
import type { AnswerContext, EventSpan, Metered, Verdict } from "../protocol.ts";
import { readErrorObject } from "../refusal.ts";
import { valueAt } from "../scan.ts";
import type { StreamReader, StreamState } from "../stream.ts";
import { EVENT } from "./shape.ts";
import { readUsage } from "./usage.ts";

const ascii = (word: string): Uint8Array => new TextEncoder().encode(`"${word}"`);

/** The events that the relay does something about; all others pass as they are. */
const KINDS = [
  "response.created",
  "response.in_progress",
  "response.queued",
  "response.output_item.added",
  "response.output_item.done",
  "response.function_call_arguments.delta",
  "response.function_call_arguments.done",
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.rate_limits.updated",
  "keepalive",
  "error",
] as const;

/** What an event is. */
export type EventKind = (typeof KINDS)[number] | "other";

const QUOTED_KINDS = KINDS.map((kind) => [kind, ascii(kind)] as const);

/** What the relay asks of the reader of a stream. */
export type ResponsesReader = ReturnType<typeof openReader>;

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
  #told: Metered | undefined;
  #hasEnded = false;
  /** Something of the item that is being told came in pieces, which were counted. */
  #hasPieces = false;

  constructor(state: StreamState, context: AnswerContext) {
    this.#state = state;
    this.#context = context;
    this.#count = openAnswerCount(context);
  }

  see({ bytes, start, end }: EventSpan): Verdict {
    const state = this.#state;
    this.kind = kindOf(bytes);
    if (this.kind !== "keepalive") state.chunks += 1;
    switch (this.kind) {
      case "response.completed":
      case "response.incomplete": {
        const response = responseIn(bytes);
        this.#told = readUsage(response);
        if (this.#told !== undefined) this.#count.usageTold();
        this.#hasEnded = true;
        // Whatever else comes is nothing that a client waits for, and some clients fail over it.
        state.isDone = true;
        return "hold";
      }
      case "response.failed":
        state.failure ??= readErrorObject(responseIn(bytes).error, this.#context);
        return "drop";
      case "error":
        // Some have what went wrong beside the type, and no object for it.
        if (EVENT.error.start === -1)
          state.failure ??= readErrorObject(valueAt(bytes, { start, end }), this.#context);
        return "drop";
      case "response.rate_limits.updated":
        return "drop";
      case "response.output_item.done":
        if (!this.#hasPieces && EVENT.item.start !== -1) this.#countItem(valueAt(bytes, EVENT.item));
        this.#hasPieces = false;
        state.hasContent = true;
        return "pass";
      default:
        this.#count.add(EVENT.text);
        if (EVENT.content.on) this.#hasPieces = true;
        if (EVENT.content.on || EVENT.item.start !== -1) state.hasContent = true;
        return "pass";
    }
  }

  /** Counts an item that came whole: reasoning whose text is sealed, or what a server tells at its end only. */
  #countItem(item: unknown): void {
    const { encrypted_content: sealed, ...said }: JsonObject = isJsonObject(item) ? item : {};
    const thought = { ascii: typeof sealed === "string" ? sealed.length : 0, wide: 0 };
    this.#count.add(spokenIn(said), thought);
  }

  /** Every event has a number of its own. */
  variance(): undefined {
    return undefined;
  }

  again(): void {}

  get isComplete(): boolean {
    return this.#hasEnded;
  }

  metered(): Metered {
    return this.#count.metered(this.#told);
  }
}

/** The text of an item that is no reasoning, or reasoning that can be read. */
function spokenIn({ content, arguments: given, input }: JsonObject): CountedText {
  const texts = [given, input, ...objectsIn(content).map(({ text }) => text)];
  const bytes = encoder.encode(JSON.stringify(texts.filter((text) => typeof text === "string").join("")));
  const counted = { ascii: 0, wide: 0 };
  countText(bytes, 0, bytes.length, counted);
  return counted;
}

const encoder = new TextEncoder();

function responseIn(bytes: Uint8Array): JsonObject {
  const value = EVENT.response.start === -1 ? undefined : valueAt(bytes, EVENT.response);
  return isJsonObject(value) ? value : {};
}

function kindOf(bytes: Uint8Array): EventKind {
  const { type, error } = EVENT;
  if (type.start === -1) return error.start === -1 ? "other" : "error";
  for (const [kind, quoted] of QUOTED_KINDS) if (keyIs(bytes, type.start, type.end, quoted)) return kind;
  return "other";
}
