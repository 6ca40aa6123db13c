import { estimateTokens } from "../core/money/token-estimate.ts";
import { addUsage, NO_USAGE, outputTokens, type Usage } from "../core/money/usage.ts";
import type { ByteSpan } from "../core/bytes/bytes.ts";
import type { AnswerContext, Metered } from "./protocol.ts";

/** Tokens of an image that nobody counted: https://ai.google.dev/gemini-api/docs/pricing, one of 1K or 2K. */
export const IMAGE_TOKENS = 1_120;

/** Bytes of answer text by kind, as they stand in JSON. */
export interface CountedText {
  ascii: number;
  wide: number;
}

/** Adds the inside of the JSON string at `[start, end)`, quotes included in the span. */
export function countText(bytes: Uint8Array, start: number, end: number, into: CountedText): void {
  const wide = wideBytes(bytes, start, end);
  into.ascii += end - start - 2 - wide;
  into.wide += wide;
}

/** Bytes of characters beyond ASCII. */
export function wideBytes(bytes: Uint8Array, start: number, end: number): number {
  let wide = 0;
  for (let i = start; i < end; i += 1) if ((bytes[i] as number) >= 0x80) wide += 1;
  return wide;
}

/** What was added of an event. */
interface AddedText {
  readonly text: CountedText;
  readonly thoughts?: CountedText;
  /** Where one string of it stands in `bytes`, and whether that is thinking. */
  readonly bytes: Uint8Array;
  readonly said: ByteSpan;
  readonly isThought?: boolean;
}

const NO_TEXT: CountedText = { ascii: 0, wide: 0 };

/** Tokens of output that we counted ourselves. */
export type CountedOutput = Pick<Usage, "output" | "reasoning" | "imageOutput">;

const NOTHING = { ascii: 0, wide: 0, thoughtAscii: 0, thoughtWide: 0, images: 0 };
type Counted = typeof NOTHING;

/** Our own count of what comes of one streamed answer, beside what its provider says of it. */
export type AnswerCount = ReturnType<typeof openAnswerCount>;

/** A count for one stream. */
export function openAnswerCount(context: AnswerContext) {
  return new Count(context);
}

class Count {
  readonly #expectedInput: number;
  readonly #seen: Counted = { ...NOTHING };
  /** What had come when usage was told. */
  #before: Counted = NOTHING;
  /** Of the event that is repeated: all but the text that differs, and whether that is thinking. */
  #beside: Counted = NOTHING;
  #isThought = false;

  constructor({ expectedInput }: AnswerContext) {
    this.#expectedInput = expectedInput;
  }

  add(text: CountedText, thoughts = NO_TEXT, images = 0): void {
    const seen = this.#seen;
    seen.ascii += text.ascii;
    seen.wide += text.wide;
    seen.thoughtAscii += thoughts.ascii;
    seen.thoughtWide += thoughts.wide;
    seen.images += images;
  }

  /** Keeps what was added last but for one string, which can be another one when it is added again. */
  keepBeside({ text, thoughts = NO_TEXT, bytes, said, isThought = false }: AddedText): ByteSpan {
    const own = { ascii: 0, wide: 0 };
    countText(bytes, said.start, said.end, own);
    const [ofText, ofThoughts] = isThought ? [NO_TEXT, own] : [own, NO_TEXT];
    this.#isThought = isThought;
    const beside = {
      ascii: text.ascii - ofText.ascii,
      wide: text.wide - ofText.wide,
      thoughtAscii: thoughts.ascii - ofThoughts.ascii,
      thoughtWide: thoughts.wide - ofThoughts.wide,
      images: 0,
    };
    // Nearly always the text is all there is.
    this.#beside = Object.values(beside).every((bytes) => bytes === 0) ? NOTHING : beside;
    return said;
  }

  /** Adds so many events like that, and their texts together. */
  addRepeated({ ascii, wide }: CountedText, events: number): void {
    const seen = this.#seen;
    const beside = this.#beside;
    if (beside !== NOTHING) {
      seen.ascii += events * beside.ascii;
      seen.wide += events * beside.wide;
      seen.thoughtAscii += events * beside.thoughtAscii;
      seen.thoughtWide += events * beside.thoughtWide;
    }
    if (this.#isThought) {
      seen.thoughtAscii += ascii;
      seen.thoughtWide += wide;
    } else {
      seen.ascii += ascii;
      seen.wide += wide;
    }
  }

  /** The provider has told its usage: what comes from now on is counted on top of it. */
  usageTold(): void {
    const { ascii, wide, thoughtAscii, thoughtWide, images } = this.#seen;
    this.#before = { ascii, wide, thoughtAscii, thoughtWide, images };
  }

  /** All that came, in tokens. */
  total(): CountedOutput {
    return this.#since(NOTHING);
  }

  /**
   * `told`, and our count of what came after it was told: usage in the middle of an answer speaks of its beginning only.
   * Our count alone where nothing was told.
   */
  metered(told: Metered | undefined): Metered {
    if (told === undefined)
      return { usage: { ...NO_USAGE, input: this.#expectedInput, ...this.total() }, flags: ["estimated"] };
    // Usage from before the answer began names no output at all.
    const more = { ...NO_USAGE, ...this.#since(outputTokens(told.usage) === 0 ? NOTHING : this.#before) };
    return outputTokens(more) === 0 ? told : estimated(told, addUsage(told.usage, more));
  }

  #since(from: Counted): CountedOutput {
    const seen = this.#seen;
    return {
      output: countedTokens(seen.ascii - from.ascii, seen.wide - from.wide),
      reasoning: countedTokens(seen.thoughtAscii - from.thoughtAscii, seen.thoughtWide - from.thoughtWide),
      imageOutput: (seen.images - from.images) * IMAGE_TOKENS,
    };
  }
}

/** Tokens of text that upstream said nothing of, or that came before it could. */
function countedTokens(ascii: number, wide: number): number {
  // A character beyond ASCII is two or three bytes; three fits the scripts that matter most.
  return estimateTokens({ ascii, alphabetic: 0, ideographic: Math.ceil(wide / 3) }).expected;
}

/**
 * `told` with our own count of the output where it says that there is none, or gives an impossible number. An answer
 * that says something is not free.
 */
export function withUntoldOutput(told: Metered, counted: () => Metered): Metered {
  if (outputTokens(told.usage) > 0) return told;
  const { usage } = counted();
  const { output, reasoning, imageOutput, audioOutput } = usage;
  if (outputTokens(usage) === 0) return told;
  return estimated(told, { ...told.usage, output, reasoning, imageOutput, audioOutput });
}

function estimated(told: Metered, usage: Usage): Metered {
  return { ...told, usage, flags: [...new Set([...told.flags, "estimated" as const])] };
}
