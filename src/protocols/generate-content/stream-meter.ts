import { NO_USAGE, outputTokens } from "../../core/usage.ts";
import { countedTokens, IMAGE_TOKENS } from "../counted-text.ts";
import type { AnswerContext, Metered } from "../protocol.ts";
import { NOTHING_TOLD } from "./answer.ts";
import type { ChunkFacts } from "./chunk-scan.ts";
import { readUsage, searchesOf } from "./usage.ts";

/** Counts a streamed answer while it passes. */
export interface StreamMeter {
  /** Takes in a chunk that was scanned. */
  note(facts: ChunkFacts, bytes: Uint8Array): void;
  /** What upstream said last, and our own count of what came after it said so; ours alone where it said nothing. */
  metered(): Metered;
  /** The same for a blocked prompt: nothing where nothing was told and nothing came. */
  ofBlocked(): Metered;
  /** The last usage as upstream wrote it. */
  usageText(): string | undefined;
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
const decoder = new TextDecoder();

/** A meter for one stream. Usage comes with nearly every chunk and is cumulative: the last one holds. */
export function createStreamMeter(context: AnswerContext): StreamMeter {
  const seen: Seen = { ...NONE };
  let told: { readonly bytes: Uint8Array; readonly at: Seen } | undefined;
  const searches = new Map<number, Set<string>>();

  const noteSearches = ({ grounding }: ChunkFacts, bytes: Uint8Array): void => {
    for (let i = 0; i < grounding.length; i += 3) {
      const span = bytes.subarray(grounding[i + 1], grounding[i + 2]);
      const index = grounding[i] as number;
      const known = searches.get(index) ?? new Set();
      for (const query of searchesOf(JSON.parse(decoder.decode(span)))) known.add(query);
      searches.set(index, known);
    }
  };

  const webSearches = (): number => [...searches.values()].reduce((sum, queries) => sum + queries.size, 0);

  const metered = (): Metered => {
    const found = webSearches();
    const said = told === undefined ? undefined : readUsage(JSON.parse(decoder.decode(told.bytes)), found);
    if (told === undefined || said === undefined) return counted(seen, context, found);
    const { usage } = said;
    // Usage from before the answer began names no output at all.
    const before = outputTokens(usage) === 0 ? NONE : told.at;
    const late = counted(difference(seen, before), context, 0).usage;
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

  return {
    note(facts, bytes) {
      seen.ascii += facts.ascii;
      seen.wide += facts.wide;
      seen.thoughtAscii += facts.thoughtAscii;
      seen.thoughtWide += facts.thoughtWide;
      seen.images += facts.images;
      if (facts.grounding.length > 0) noteSearches(facts, bytes);
      if (facts.usageStart !== -1)
        told = { bytes: bytes.slice(facts.usageStart, facts.usageEnd), at: { ...seen } };
    },
    metered,
    ofBlocked() {
      const all = metered();
      return saidNothing(told?.bytes) && outputTokens(all.usage) === 0 ? NOTHING_TOLD : all;
    },
    usageText: () => (told === undefined ? undefined : decoder.decode(told.bytes)),
  };
}

function saidNothing(usage: Uint8Array | undefined): boolean {
  return usage === undefined || readUsage(JSON.parse(decoder.decode(usage))) === undefined;
}

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
