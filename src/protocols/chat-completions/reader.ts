import { openAnswerCount } from "../counted-text.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerContext, EventSpan, Metered, Verdict } from "../protocol.ts";
import { EMPTY_LIST, LIST, type Place, STRING, textAt, valueAt } from "../scan.ts";
import type { Repeated } from "../repeats.ts";
import type { StreamState } from "../stream.ts";
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
  const count = openAnswerCount(context);
  const choices = new Map<number, boolean>();
  let calledTool = false;
  let told: ToldUsage | undefined;
  let id: string | undefined;
  let created: string | undefined;

  const allBegun = (): boolean => choices.size >= context.choices;

  const allFinished = (): boolean => choices.values().every((finished) => finished);

  /** Counts what a chunk gave. */
  const noteChoices = (): void => {
    count.add(CHUNK.text);
    for (let i = 0; i < CHUNK.told.length; i += 3) {
      const index = CHUNK.told[i] as number;
      const finished = CHUNK.told[i + 1] === 1;
      if (finished || !choices.has(index)) choices.set(index, finished);
      if (CHUNK.told[i + 2] === 1) calledTool = true;
    }
  };

  const noteUsage = (bytes: Uint8Array): boolean => {
    if (CHUNK.usage.start === -1) return false;
    const value = valueAt(bytes, CHUNK.usage);
    const metered = readUsage(value);
    if (metered === undefined) return false;
    told = { text: textAt(bytes, CHUNK.usage), isPlain: isPlainUsage(value), metered };
    count.usageTold();
    return true;
  };

  /** The first that says something: Azure begins with a chunk whose id is empty and whose time is 0. */
  const noteNames = (bytes: Uint8Array): void => {
    id ??= textUnless(bytes, CHUNK.id, '""');
    created ??= textUnless(bytes, CHUNK.created, "0");
  };

  const judge = (gaveUsage: boolean): Verdict => {
    if (CHUNK.choices.kind === LIST) {
      if (CHUNK.content.on) state.hasContent = true;
      if (gaveUsage) state.noted.add("usage_beside_choices");
      return "pass";
    }
    if (CHUNK.choices.kind === EMPTY_LIST) return gaveUsage ? "hold" : "pass";
    // Clients read `choices` of every chunk: one without is made anew for the tail.
    if (gaveUsage) state.noted.add("usage_chunk_choices");
    else state.failure ??= new GatewayError("upstream_error", "The provider sent a chunk without choices.");
    return "drop";
  };

  return {
    see({ bytes }: EventSpan): Verdict {
      state.chunks += 1;
      const isError = CHUNK.error.start !== -1;
      if (!isError) noteChoices();
      const gaveUsage = noteUsage(bytes);
      if (isError) return "drop";
      if (id === undefined || created === undefined) noteNames(bytes);
      const verdict = judge(gaveUsage);
      // Clients are promised a model in every chunk.
      if (CHUNK.model.start === -1 && verdict !== "drop") state.noted.add("chunk_model");
      return verdict;
    },
    variance: (bytes: Uint8Array) => (isTextAlone() ? count.keepBeside({ ...CHUNK, bytes }) : undefined),
    again: ({ events, text }: Repeated) => count.addRepeated(text, events),
    get isComplete(): boolean {
      if (allBegun() && allFinished()) return true;
      return state.isDone && state.hasContent && (allBegun() || allFinished());
    },
    metered: () => count.metered(told?.metered),
    /** What every chunk of the stream begins with. */
    get head(): ChunkHead {
      return {
        id: id ?? JSON.stringify(`chatcmpl-${context.requestId}`),
        created: created ?? context.nowSec,
        model: context.model,
      };
    },
    /** Whether each choice that began has ended, by index. */
    choices: choices as ReadonlyMap<number, boolean>,
    get calledTool(): boolean {
      return calledTool;
    },
    get told(): ToldUsage | undefined {
      return told;
    },
  };
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
