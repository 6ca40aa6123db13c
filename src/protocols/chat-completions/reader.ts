import { type AnswerCount, openAnswerCount } from "../counted-text.ts";
import type { Variance } from "../event-form.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext, EventSpan, Metered, Verdict } from "../protocol.ts";
import { EMPTY_LIST, LIST, type Place, STRING, textAt, valueAt } from "../scan.ts";
import type { Repeated } from "../repeats.ts";
import type { StreamReader, StreamState } from "../stream.ts";
import { CHUNK } from "./shape.ts";
import type { ChunkHead } from "./tail.ts";
import { isPlainUsage, readUsage } from "./usage.ts";

/** Usage as upstream told it last. */
export interface ToldUsage {
  /** As upstream wrote it. */
  readonly text: string;
  /** It can be shown as it is, where no count of it was bent. */
  readonly isPlain: boolean;
  readonly metered: Metered;
}

/** What the relay asks of the reader of a stream. */
export type ChunkReader = ReturnType<typeof openReader>;

/** A reader for one stream. */
export function openReader(state: StreamState, context: AnswerContext) {
  return new Reader(state, context);
}

class Reader implements StreamReader {
  /** Whether each choice that began has ended, by index. */
  readonly choices = new Map<number, boolean>();
  calledTool = false;
  told: ToldUsage | undefined;
  readonly #state: StreamState;
  readonly #context: AnswerContext;
  readonly #count: AnswerCount;
  #id: string | undefined;
  #created: string | undefined;

  constructor(state: StreamState, context: AnswerContext) {
    this.#state = state;
    this.#context = context;
    this.#count = openAnswerCount(context);
  }

  see({ bytes }: EventSpan): Verdict {
    const state = this.#state;
    state.chunks += 1;
    const isError = CHUNK.error.start !== -1;
    if (!isError) this.#noteChoices();
    const gaveUsage = this.#noteUsage(bytes);
    if (isError) {
      // Of a provider that says something beside it the work may be paid for: nobody is asked for it again.
      if (CHUNK.content.on && !state.hasContent)
        state.failure ??= new GatewayError("upstream_error", "The provider's answer broke off.");
      return "drop";
    }
    // The first that says something: Azure begins with a chunk whose id is empty and whose time is 0.
    this.#id ??= textUnless(bytes, CHUNK.id, '""');
    this.#created ??= textUnless(bytes, CHUNK.created, "0");
    const verdict = this.#judge(gaveUsage);
    // Clients are promised a model in every chunk.
    if (CHUNK.model.start === -1 && verdict !== "drop") state.note("chunk_model");
    return verdict;
  }

  variance(bytes: Uint8Array): Variance | undefined {
    return isTextAlone() ? { text: this.#count.keepBeside({ ...CHUNK, bytes }) } : undefined;
  }

  again({ events, text }: Repeated): void {
    this.#count.addRepeated(text, events);
  }

  get isComplete(): boolean {
    const allBegun = this.choices.size >= this.#context.choices;
    const allFinished = this.choices.values().every((finished) => finished);
    if (allBegun && allFinished) return true;
    return this.#state.isDone && this.#state.hasContent && (allBegun || allFinished);
  }

  metered(): Metered {
    return this.#count.metered(this.told?.metered);
  }

  /** What every chunk of the stream begins with. */
  get head(): ChunkHead {
    const { requestId, nowSec, model } = this.#context;
    return {
      id: this.#id ?? JSON.stringify(`chatcmpl-${requestId}`),
      created: this.#created ?? nowSec,
      model,
    };
  }

  /** Counts what a chunk gave. */
  #noteChoices(): void {
    this.#count.add(CHUNK.text);
    for (let i = 0; i < CHUNK.told.length; i += 3) {
      const index = CHUNK.told[i] as number;
      const finished = CHUNK.told[i + 1] === 1;
      if (finished || !this.choices.has(index)) this.choices.set(index, finished);
      if (CHUNK.told[i + 2] === 1) this.calledTool = true;
    }
  }

  #noteUsage(bytes: Uint8Array): boolean {
    if (CHUNK.usage.start === -1) return false;
    const value = valueAt(bytes, CHUNK.usage);
    const metered = readUsage(value);
    if (metered === undefined) return false;
    this.told = { text: textAt(bytes, CHUNK.usage), isPlain: isPlainUsage(value), metered };
    this.#count.usageTold();
    return true;
  }

  #judge(gaveUsage: boolean): Verdict {
    const state = this.#state;
    if (CHUNK.choices.kind === LIST) {
      if (CHUNK.content.on) state.hasContent = true;
      if (gaveUsage) state.note("usage_beside_choices");
      return "pass";
    }
    if (CHUNK.choices.kind === EMPTY_LIST) return gaveUsage ? "hold" : "pass";
    // Clients read `choices` of every chunk: one without is made anew for the tail.
    if (gaveUsage) state.note("usage_chunk_choices");
    else state.failure ??= new GatewayError("upstream_error", "The provider sent a chunk without choices.");
    return "drop";
  }
}

/** Whether the chunk ends no choice, calls no tool, tells no usage, and its last text can be another one. */
function isTextAlone(): boolean {
  const { choices, content, said, told, usage } = CHUNK;
  if (choices.kind !== LIST || !content.on || said.kind !== STRING || usage.start !== -1) return false;
  return told.every((fact, i) => i % 3 === 0 || fact === 0);
}

function textUnless(bytes: Uint8Array, at: Place, nothing: string): string | undefined {
  const text = at.start === -1 ? "null" : textAt(bytes, at);
  return text === nothing || text === "null" ? undefined : text;
}
