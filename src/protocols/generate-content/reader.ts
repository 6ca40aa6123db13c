import type { ByteSpan } from "../../core/bytes/bytes.ts";
import { outputTokens } from "../../core/money/usage.ts";
import { openAnswerCount } from "../counted-text.ts";
import type { Variance } from "../event-form.ts";
import type { AnswerContext, EventSpan, Metered, Verdict } from "../protocol.ts";
import type { Repeated } from "../repeats.ts";
import { STRING, textAt, valueAt } from "../scan.ts";
import type { StreamState } from "../stream.ts";
import { NOTHING_TOLD } from "./answer.ts";
import { CHUNK, isReason } from "./shape.ts";
import { readUsage, searchesOf } from "./usage.ts";

/** What the relay asks of the reader of a stream. */
export type ChunkReader = ReturnType<typeof openReader>;

/** A reader for one stream. */
export function openReader(state: StreamState, context: AnswerContext) {
  const finished = new Map<number, boolean>();
  const meter = openMeter(context);
  let blocked = false;
  let endsAgain = false;

  const allFinished = (): boolean => finished.values().every((isFinished) => isFinished);

  /** Notes which candidates have ended; tells whether one did that had not before. */
  const noteCandidates = (): boolean => {
    let ends = false;
    endsAgain = false;
    for (let i = 0; i < CHUNK.told.length; i += 2) {
      const index = CHUNK.told[i] as number;
      const had = finished.get(index) === true;
      const has = CHUNK.told[i + 1] === 1;
      if (has && had) endsAgain = true;
      else if (has) ends = true;
      finished.set(index, had || has);
    }
    return ends;
  };

  const judgeCandidates = (): Verdict => {
    const { content, notes } = CHUNK;
    if (content.on) state.hasContent = true;
    const ends = noteCandidates();
    if (ends && allFinished()) return "hold";
    if (!endsAgain) return "pass";
    // A reason that was given before is not given twice; what comes with it is part of the answer all the same.
    state.noted.add("second_finish");
    endsAgain = !ends;
    return content.on || notes.on || ends ? "pass" : "drop";
  };

  const judgeRest = (bytes: Uint8Array): Verdict => {
    if (isReason(bytes, CHUNK.blockReason)) {
      // This chunk is the end of the answer, and often all of it.
      blocked = state.isDone = true;
      return "hold";
    }
    // Without candidates clients forget the turn. Usage is told by the last chunk.
    state.noted.add("chunk_without_candidates");
    return CHUNK.more.on ? "pass" : "drop";
  };

  return {
    see({ bytes }: EventSpan): Verdict {
      state.chunks += 1;
      if (CHUNK.error.start !== -1) return "drop";
      meter.add(bytes);
      const verdict = CHUNK.told.length > 0 ? judgeCandidates() : judgeRest(bytes);
      if (verdict !== "drop" && CHUNK.edits.length > 0) state.noted.add("empty_part");
      return verdict;
    },
    variance(bytes: Uint8Array): Variance | undefined {
      if (endsAgain || !isTextAlone()) return undefined;
      return { ...meter.keepBeside(bytes), numbers: CHUNK.usage.start === -1 ? undefined : CHUNK.usage };
    },
    again: (repeated: Repeated) => meter.again(repeated),
    get isComplete(): boolean {
      // A provider may make fewer than were asked for: those that have not begun by its own end never do.
      const most = state.endTold ? 1 : context.choices;
      return blocked || (finished.size >= most && allFinished());
    },
    metered: (): Metered => (blocked ? meter.meteredBlocked() : meter.metered()),
    /** The prompt was blocked: the answer has ended. */
    get blocked(): boolean {
      return blocked;
    },
    /** The chunk that was seen last gives a reason to end again: it is not told twice. */
    get endsAgain(): boolean {
      return endsAgain;
    },
    /** The last usage as upstream wrote it. */
    get usageText(): string | undefined {
      return meter.usageText();
    },
  };
}

/** Whether the chunk ends no candidate, is passed on as it is, and its last text can be another one. */
function isTextAlone(): boolean {
  const { content, edits, grounding, images, told, words } = CHUNK;
  if (edits.length + grounding.length + images.length > 0 || told.length === 0) return false;
  return content.on && words.kind === STRING && told.every((fact, i) => i % 2 === 0 || fact === 0);
}

/** Usage comes with nearly every chunk and is cumulative: the last one holds. */
function openMeter(context: AnswerContext) {
  const count = openAnswerCount(context);
  const searches = new Map<number, Set<string>>();
  let told: Uint8Array | undefined;
  const tellUsage = (bytes: Uint8Array, { start, end }: ByteSpan): void => {
    told = bytes.slice(start, end);
    count.usageTold();
  };

  const metered = (): Metered => {
    const found = [...searches.values()].reduce((sum, queries) => sum + queries.size, 0);
    const said = told === undefined ? undefined : readUsage(usageIn(told), found);
    const all = count.metered(said);
    if (said !== undefined || found === 0) return all;
    return { ...all, usage: { ...all.usage, webSearches: found } };
  };

  return {
    /** Takes in the chunk that was just scanned. */
    add(bytes: Uint8Array): void {
      count.add(CHUNK.text, CHUNK.thoughts, CHUNK.images.length);
      const { grounding, usage } = CHUNK;
      for (let i = 0; i < grounding.length; i += 3) {
        const [index = 0, start = 0, end = 0] = grounding.slice(i, i + 3);
        const known = searches.get(index) ?? new Set();
        for (const query of searchesOf(valueAt(bytes, { start, end }))) known.add(query);
        searches.set(index, known);
      }
      if (usage.start !== -1) tellUsage(bytes, usage);
    },
    /** Keeps what the chunk gave but for its last text. */
    keepBeside(bytes: Uint8Array): Variance {
      const { text, thoughts, thought, words } = CHUNK;
      return count.keepBeside({ text, thoughts, bytes, said: words, isThought: thought.start !== -1 });
    },
    again({ events, text, bytes, numbers }: Repeated): void {
      count.addRepeated(text, events);
      if (numbers.start !== -1) tellUsage(bytes, numbers);
    },
    metered,
    /** The same for a blocked prompt: nothing where nothing was told and nothing came. */
    meteredBlocked(): Metered {
      const all = metered();
      const isTold = told !== undefined && readUsage(usageIn(told)) !== undefined;
      return !isTold && outputTokens(all.usage) === 0 ? NOTHING_TOLD : all;
    },
    usageText: (): string | undefined =>
      told === undefined ? undefined : textAt(told, { start: 0, end: told.length }),
  };
}

function usageIn(bytes: Uint8Array): unknown {
  return valueAt(bytes, { start: 0, end: bytes.length });
}
