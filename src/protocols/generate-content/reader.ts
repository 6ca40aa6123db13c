import type { ByteSpan } from "../../core/bytes/bytes.ts";
import { outputTokens } from "../../core/money/usage.ts";
import { type AnswerCount, openAnswerCount } from "../counted-text.ts";
import type { Variance } from "../event-form.ts";
import type { AnswerContext, EventSpan, Metered, Verdict } from "../protocol.ts";
import type { Repeated } from "../repeats.ts";
import { STRING, textAt, valueAt } from "../scan.ts";
import type { StreamReader, StreamState } from "../stream.ts";
import { NOTHING_TOLD } from "./answer.ts";
import { CHUNK, isReason } from "./shape.ts";
import { readUsage, searchesOf } from "./usage.ts";

/** What the relay asks of the reader of a stream. */
export type ChunkReader = ReturnType<typeof openReader>;

/** A reader for one stream. */
export function openReader(state: StreamState, context: AnswerContext) {
  return new Reader(state, context);
}

class Reader implements StreamReader {
  /** The prompt was blocked: the answer has ended. */
  blocked = false;
  /** The chunk that was seen last gives a reason to end again: it is not told twice. */
  endsAgain = false;
  readonly #state: StreamState;
  readonly #context: AnswerContext;
  readonly #meter: Meter;
  readonly #finished = new Map<number, boolean>();

  constructor(state: StreamState, context: AnswerContext) {
    this.#state = state;
    this.#context = context;
    this.#meter = new Meter(context);
  }

  see({ bytes }: EventSpan): Verdict {
    this.#state.chunks += 1;
    if (CHUNK.error.start !== -1) return "drop";
    this.#meter.add(bytes);
    const verdict = CHUNK.told.length > 0 ? this.#judgeCandidates() : this.#judgeRest(bytes);
    if (verdict !== "drop" && CHUNK.edits.length > 0) this.#state.note("empty_part");
    return verdict;
  }

  variance(bytes: Uint8Array): Variance | undefined {
    return this.endsAgain || !isTextAlone() ? undefined : this.#meter.keepBeside(bytes);
  }

  again(repeated: Repeated): void {
    this.#meter.again(repeated);
  }

  get isComplete(): boolean {
    // A provider may make fewer than were asked for: those that have not begun by its own end never do.
    const most = this.#state.endTold ? 1 : this.#context.choices;
    return this.blocked || (this.#finished.size >= most && this.#allFinished());
  }

  metered(): Metered {
    return this.blocked ? this.#meter.meteredBlocked() : this.#meter.metered();
  }

  /** The last usage as upstream wrote it. */
  get usageText(): string | undefined {
    return this.#meter.usageText;
  }

  #allFinished(): boolean {
    return this.#finished.values().every((isFinished) => isFinished);
  }

  #judgeCandidates(): Verdict {
    const { content, notes } = CHUNK;
    if (content.on) this.#state.hasContent = true;
    const ends = this.#noteCandidates();
    if (ends && this.#allFinished()) return "hold";
    if (!this.endsAgain) return "pass";
    // A reason that was given before is not given twice; what comes with it is part of the answer all the same.
    this.#state.note("second_finish");
    this.endsAgain = !ends;
    return content.on || notes.on || ends ? "pass" : "drop";
  }

  #judgeRest(bytes: Uint8Array): Verdict {
    if (isReason(bytes, CHUNK.blockReason)) {
      // This chunk is the end of the answer, and often all of it.
      this.blocked = this.#state.isDone = true;
      return "hold";
    }
    // Without candidates clients forget the turn. Usage is told by the last chunk.
    this.#state.note("chunk_without_candidates");
    return CHUNK.more.on ? "pass" : "drop";
  }

  /** Notes which candidates have ended; tells whether one did that had not before. */
  #noteCandidates(): boolean {
    let ends = false;
    this.endsAgain = false;
    for (let i = 0; i < CHUNK.told.length; i += 2) {
      const index = CHUNK.told[i] as number;
      const had = this.#finished.get(index) === true;
      const has = CHUNK.told[i + 1] === 1;
      if (has && had) this.endsAgain = true;
      else if (has) ends = true;
      this.#finished.set(index, had || has);
    }
    return ends;
  }
}

/** Whether the chunk ends no candidate, is passed on as it is, and its last text can be another one. */
function isTextAlone(): boolean {
  const { content, edits, grounding, images, told, words } = CHUNK;
  if (edits.length + grounding.length + images.length > 0 || told.length === 0) return false;
  return content.on && words.kind === STRING && told.every((fact, i) => i % 2 === 0 || fact === 0);
}

/** Usage comes with nearly every chunk and is cumulative: the last one holds. */
class Meter {
  readonly #count: AnswerCount;
  /** What was searched for, by candidate. */
  #searches: Map<number, Set<string>> | undefined;
  #told: Uint8Array | undefined;

  constructor(context: AnswerContext) {
    this.#count = openAnswerCount(context);
  }

  /** Takes in the chunk that was just scanned. */
  add(bytes: Uint8Array): void {
    this.#count.add(CHUNK.text, CHUNK.thoughts, CHUNK.images.length);
    const { grounding, usage } = CHUNK;
    for (let i = 0; i < grounding.length; i += 3) {
      const [index = 0, start = 0, end = 0] = grounding.slice(i, i + 3);
      const known = (this.#searches ??= new Map()).getOrInsertComputed(index, () => new Set());
      for (const query of searchesOf(valueAt(bytes, { start, end }))) known.add(query);
    }
    if (usage.start !== -1) this.#tellUsage(bytes, usage);
  }

  /** Keeps what the chunk gave but for its last text. */
  keepBeside(bytes: Uint8Array): Variance {
    const { text, thoughts, thought, usage, words } = CHUNK;
    const isThought = thought.start !== -1;
    const said = this.#count.keepBeside({ text, thoughts, bytes, said: words, isThought });
    return { text: said, numbers: usage.start === -1 ? undefined : usage };
  }

  again({ events, text, bytes, numbers }: Repeated): void {
    this.#count.addRepeated(text, events);
    if (numbers.start !== -1) this.#tellUsage(bytes, numbers);
  }

  metered(): Metered {
    const found = this.#searches?.values().reduce((sum, queries) => sum + queries.size, 0) ?? 0;
    const said = this.#told === undefined ? undefined : readUsage(usageIn(this.#told), found);
    const all = this.#count.metered(said);
    if (said !== undefined || found === 0) return all;
    return { ...all, usage: { ...all.usage, webSearches: found } };
  }

  /** The same for a blocked prompt: nothing where nothing was told and nothing came. */
  meteredBlocked(): Metered {
    const all = this.metered();
    const isTold = this.#told !== undefined && readUsage(usageIn(this.#told)) !== undefined;
    return !isTold && outputTokens(all.usage) === 0 ? NOTHING_TOLD : all;
  }

  get usageText(): string | undefined {
    const told = this.#told;
    return told === undefined ? undefined : textAt(told, { start: 0, end: told.length });
  }

  #tellUsage(bytes: Uint8Array, { start, end }: ByteSpan): void {
    this.#told = bytes.slice(start, end);
    this.#count.usageTold();
  }
}

function usageIn(bytes: Uint8Array): unknown {
  return valueAt(bytes, { start: 0, end: bytes.length });
}
