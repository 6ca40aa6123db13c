import { NO_USAGE, outputTokens } from "../../core/usage.ts";
import { countedTokens, IMAGE_TOKENS } from "../counted-text.ts";
import type { AnswerContext, Metered, Verdict } from "../protocol.ts";
import { textAt, valueAt } from "../scan.ts";
import type { StreamReader, StreamState } from "../stream.ts";
import { NOTHING_TOLD } from "./answer.ts";
import { type ChunkShape, isReason } from "./shape.ts";
import { readUsage, searchesOf } from "./usage.ts";

/** What the relay asks of the reader of a stream. */
export interface ChunkReader extends StreamReader {
  /** The prompt was blocked: the answer has ended. */
  readonly blocked: boolean;
  /** The chunk that was seen last gives a reason to end again: it is not told twice. */
  readonly endsAgain: boolean;
  /** The last usage as upstream wrote it. */
  readonly usageText: string | undefined;
}

/** A reader for one stream. */
export function openReader(shape: ChunkShape, state: StreamState, context: AnswerContext): ChunkReader {
  const finished = new Map<number, boolean>();
  const meter = openMeter(shape, context);
  let blocked = false;
  let endsAgain = false;

  const allFinished = (): boolean => {
    for (const isFinished of finished.values()) if (!isFinished) return false;
    return true;
  };

  /** Notes which candidates have ended; tells whether one did that had not before. */
  const noteCandidates = (): boolean => {
    let ends = false;
    endsAgain = false;
    for (let i = 0; i < shape.told.length; i += 2) {
      const index = shape.told[i] as number;
      const had = finished.get(index) === true;
      const has = shape.told[i + 1] === 1;
      if (has && had) endsAgain = true;
      else if (has) ends = true;
      finished.set(index, had || has);
    }
    return ends;
  };

  const judgeCandidates = (): Verdict => {
    const { content, notes } = shape;
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
    if (isReason(bytes, shape.blockReason)) {
      // This chunk is the end of the answer, and often all of it.
      blocked = state.isDone = true;
      return "hold";
    }
    // Without candidates clients forget the turn. Usage is told by the last chunk.
    state.noted.add("chunk_without_candidates");
    return shape.more.on ? "pass" : "drop";
  };

  return {
    see({ bytes }) {
      state.chunks += 1;
      if (shape.error.start !== -1) return "drop";
      meter.count(bytes);
      const verdict = shape.told.length > 0 ? judgeCandidates() : judgeRest(bytes);
      if (verdict !== "drop" && shape.edits.length > 0) state.noted.add("empty_part");
      return verdict;
    },
    get isComplete() {
      // A provider may make fewer than were asked for: those that have not begun by its own end never do.
      const most = state.endTold ? 1 : context.choices;
      return blocked || (finished.size >= most && allFinished());
    },
    metered: () => (blocked ? meter.meteredBlocked() : meter.metered()),
    get blocked() {
      return blocked;
    },
    get endsAgain() {
      return endsAgain;
    },
    get usageText() {
      return meter.usageText();
    },
  };
}

interface Meter {
  /** Takes in the chunk that was just scanned. */
  count(bytes: Uint8Array): void;
  /** What upstream said last, and our own count of what came after it said so; ours alone where it said nothing. */
  metered(): Metered;
  /** The same for a blocked prompt: nothing where nothing was told and nothing came. */
  meteredBlocked(): Metered;
  usageText(): string | undefined;
}

/** Usage comes with nearly every chunk and is cumulative: the last one holds. */
function openMeter(shape: ChunkShape, context: AnswerContext): Meter {
  const searches = new Map<number, Set<string>>();
  const seen: Seen = { ...NONE };
  let told: { readonly bytes: Uint8Array; readonly at: Seen } | undefined;

  const count = (bytes: Uint8Array): void => {
    seen.ascii += shape.text.ascii;
    seen.wide += shape.text.wide;
    seen.thoughtAscii += shape.thoughts.ascii;
    seen.thoughtWide += shape.thoughts.wide;
    seen.images += shape.images.length;
    const { grounding, usage } = shape;
    for (let i = 0; i < grounding.length; i += 3) {
      const [index = 0, start = 0, end = 0] = grounding.slice(i, i + 3);
      const known = searches.get(index) ?? new Set();
      for (const query of searchesOf(valueAt(bytes, { start, end }))) known.add(query);
      searches.set(index, known);
    }
    if (usage.start !== -1) told = { bytes: bytes.slice(usage.start, usage.end), at: { ...seen } };
  };

  const metered = (): Metered => {
    const found = [...searches.values()].reduce((sum, queries) => sum + queries.size, 0);
    const said = told === undefined ? undefined : readUsage(usageIn(told.bytes), found);
    if (told === undefined || said === undefined) return counted(seen, context, found);
    const { usage } = said;
    // Usage from before the answer began names no output at all.
    const late = counted(difference(seen, outputTokens(usage) === 0 ? NONE : told.at), context, 0).usage;
    if (outputTokens(late) === 0) return said;
    return {
      usage: {
        ...usage,
        output: usage.output + late.output,
        reasoning: usage.reasoning + late.reasoning,
        imageOutput: usage.imageOutput + late.imageOutput,
      },
      flags: said.flags.includes("estimated") ? said.flags : [...said.flags, "estimated"],
    };
  };

  const meteredBlocked = (): Metered => {
    const all = metered();
    const isTold = told !== undefined && readUsage(usageIn(told.bytes)) !== undefined;
    return !isTold && outputTokens(all.usage) === 0 ? NOTHING_TOLD : all;
  };

  return {
    count,
    metered,
    meteredBlocked,
    usageText: () =>
      told === undefined ? undefined : textAt(told.bytes, { start: 0, end: told.bytes.length }),
  };
}

function usageIn(bytes: Uint8Array): unknown {
  return valueAt(bytes, { start: 0, end: bytes.length });
}

/** Text by kind, in bytes, and images. */
interface Seen {
  ascii: number;
  wide: number;
  thoughtAscii: number;
  thoughtWide: number;
  images: number;
}

const NONE: Seen = { ascii: 0, wide: 0, thoughtAscii: 0, thoughtWide: 0, images: 0 };

function difference(all: Seen, before: Seen): Seen {
  return {
    ascii: all.ascii - before.ascii,
    wide: all.wide - before.wide,
    thoughtAscii: all.thoughtAscii - before.thoughtAscii,
    thoughtWide: all.thoughtWide - before.thoughtWide,
    images: all.images - before.images,
  };
}

function counted(seen: Seen, context: AnswerContext, webSearches: number): Metered {
  return {
    usage: {
      ...NO_USAGE,
      input: context.expectedInput,
      output: countedTokens(seen),
      reasoning: countedTokens({ ascii: seen.thoughtAscii, wide: seen.thoughtWide }),
      imageOutput: seen.images * IMAGE_TOKENS,
      ...(webSearches === 0 ? {} : { webSearches }),
    },
    flags: ["estimated"],
  };
}
