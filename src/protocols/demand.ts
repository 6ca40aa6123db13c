import { type ImageSize, MAX_SIZED_IMAGES } from "../core/media/image-size.ts";
import { isJsonObject, present } from "../core/json/json-value.ts";
import {
  createListFacts,
  createSeenLists,
  isKept,
  type ListFacts,
  type SeenLists,
} from "../core/json/kept.ts";
import type { Modality } from "../core/model.ts";
import type { PriceBucket } from "../core/money/price.ts";
import { estimateTokens, measureText, type TextSize } from "../core/money/token-estimate.ts";
import type { Demand, ImageInput } from "./protocol.ts";

/** Tokens as a good guess, and as a bound. */
interface Tokens {
  readonly expected: number;
  readonly ceiling: number;
}

/** What a tool definition adds to its own text. */
export const PER_TOOL: Tokens = { expected: 8, ceiling: 200 };

/** What the presence of tools adds at most where nothing more is known: instructions that come before them unseen. */
export const ANY_TOOL: Tokens = { expected: 0, ceiling: 600 };

/** What has been found in a request so far. Bytes are of media that stand in the body itself. */
export interface Found {
  /** Adds what the model reads: a text as it is, another value as its JSON, null as nothing. */
  text(value: unknown): void;
  /** Adds so many characters of ASCII. */
  ascii(characters: number): void;
  medium(kind: Modality, bytes?: number): void;
  /** Adds an image; `size` looks for its size, as long as there are not too many. */
  image(bytes: number, size: () => ImageSize | undefined, detail?: string): void;
  /** Notes that the request names something that its provider stores. */
  stored(): void;
  /** Notes what stands around the text that was sent: once, however often it is said. */
  surround(tokens: Tokens): void;
  /** Adds a part of the request by `measure`, or by what is kept of it. */
  part<Part extends object>(part: Part, measure: Measure<Part>, kept: KeptSizes): void;
  /** Adds a list of parts, of which those that an earlier list began with are not looked at. */
  parts<Part extends object>(list: readonly Part[], measure: Measure<Part>, kept: KeptListSizes): void;
  /** Adds text of this size. */
  size(text: Readonly<TextSize>): void;
  /**
   * What is asked for in all. The guess measures the fields that models read. The bound counts every byte that goes up
   * but those of media, so that the hold also covers text in an unforeseen field.
   */
  demand(bodyBytes: number, asked: Asked): Demand;
}

/** Tells what is in a part. */
type Measure<Part> = (part: Part, found: Found) => void;

/** Sizes of parts that come again with other requests, and that hold nothing but text. */
export type KeptSizes = WeakMap<object, Readonly<TextSize>>;

/** The same of parts in lists, and of all parts of a list up to one of the last. */
export interface KeptListSizes {
  readonly parts: KeptSizes;
  readonly lists: ListFacts<Readonly<TextSize>>;
}

/** No sizes yet. */
export function createKeptListSizes(): KeptListSizes {
  return { parts: new WeakMap(), lists: createListFacts() };
}

/** What a request says of its answer. */
type Asked = Omit<Demand, "textTokens" | "media" | "images" | "mediaBytes" | "buckets"> & {
  /** Whether it asks for the dearer kind of writing to the cache. */
  readonly longCache: boolean;
};

/** Nothing yet, but for the definitions and schemas, whose length is what they were sent as. */
export function openFound(schemaBytes: number, around: readonly (readonly [Tokens, number])[]): Found {
  const size: TextSize = { ascii: schemaBytes, alphabetic: 0, ideographic: 0 };
  const surroundings = new Map(around);
  const media: Partial<Record<Modality, number>> = {};
  const images: ImageInput[] = [];
  let imageBytes = 0;
  let mediaBytes = 0;
  let namesStored = false;
  /** How much was found that is no text. */
  let others = 0;
  const found: Found = {
    surround(tokens) {
      surroundings.set(tokens, 1);
      others += 1;
    },
    stored() {
      namesStored = true;
      others += 1;
    },
    part(part, measure, kept) {
      const known = kept.get(part);
      if (known !== undefined) return found.size(known);
      const start = { ...size };
      const before = others;
      measure(part, found);
      if (others === before && isKept(part)) kept.set(part, sizeSince(size, start));
    },
    parts(list, measure, { parts, lists }) {
      const { count, fact = NO_TEXT } = lists.of(list) ?? { count: 0 };
      const start = { ...size };
      const before = others;
      found.size(fact);
      for (let at = count; at < list.length; at += 1) {
        found.part(list[at] as (typeof list)[number], measure, parts);
        if (others === before) lists.add(list, at + 1, () => sizeSince(size, start));
      }
    },
    size({ ascii, alphabetic, ideographic }) {
      size.ascii += ascii;
      size.alphabetic += alphabetic;
      size.ideographic += ideographic;
    },
    text(value) {
      if (value === undefined || value === null) return;
      measureText(typeof value === "string" ? value : JSON.stringify(value), size);
    },
    ascii: (characters) => void (size.ascii += characters),
    medium(kind, bytes = 0) {
      media[kind] = (media[kind] ?? 0) + 1;
      others += 1;
      mediaBytes += bytes;
    },
    image(bytes, sizeOf, detail) {
      found.medium("image");
      imageBytes += bytes;
      images.push(present({ size: images.length < MAX_SIZED_IMAGES ? sizeOf() : undefined, detail }));
    },
    demand(bodyBytes, { longCache, ...asked }) {
      const text = estimateTokens(size);
      const most = Math.max(text.ceiling, Math.ceil((bodyBytes - imageBytes - mediaBytes) / 2));
      let { expected } = text;
      let ceiling = most;
      for (const [tokens, times] of surroundings) {
        expected += tokens.expected * times;
        ceiling += tokens.ceiling * times;
      }
      const buckets: PriceBucket[] = [];
      if (longCache) buckets.push("cache_write_1h");
      if (media.audio !== undefined) buckets.push("audio_input");
      if (asked.outputModalities?.includes("audio") === true) buckets.push("audio_output");
      if (asked.outputModalities?.includes("image") === true) buckets.push("image_output");
      if (asked.webSearches > 0) buckets.push("web_search");
      const demand = { textTokens: { expected, ceiling }, media, images, mediaBytes, buckets, ...asked };
      return namesStored ? { ...demand, namesStored } : demand;
    },
  };
  return found;
}

const NO_TEXT: Readonly<TextSize> = { ascii: 0, alphabetic: 0, ideographic: 0 };

/** What was added to a size since it was another one. */
function sizeSince(size: Readonly<TextSize>, start: Readonly<TextSize>): TextSize {
  return {
    ascii: size.ascii - start.ascii,
    alphabetic: size.alphabetic - start.alphabetic,
    ideographic: size.ideographic - start.ideographic,
  };
}

/** The size of a part by `measure`; `undefined` where there is something in it that is no text. */
export function textSizeOf<Part extends object>(
  part: Part,
  measure: Measure<Part>,
  kept: KeptSizes,
): Readonly<TextSize> | undefined {
  const known = kept.get(part);
  if (known !== undefined) return known;
  // What holds nothing but text is kept, as long as it comes again.
  openFound(0, []).part(part, measure, kept);
  return kept.get(part);
}

/** Whether parts that come again with other requests ask for a long cache, and lists none of whose parts does. */
export interface KeptAnswers {
  readonly parts: WeakMap<object, boolean>;
  readonly short: SeenLists;
}

/** Nothing asked yet. */
export function createKeptAnswers(): KeptAnswers {
  return { parts: new WeakMap(), short: createSeenLists() };
}

/**
 * Whether a `cache_control` asks for more than the usual five minutes; `within`: the members that can have one inside.
 * What the items of the outermost lists ask for is looked up in `kept`, and kept there.
 */
export function asksForLongCache(value: unknown, within?: readonly string[], kept?: KeptAnswers): boolean {
  if (Array.isArray(value)) {
    for (let at = kept?.short.count(value) ?? 0; at < value.length; at += 1) {
      const item: unknown = value[at];
      const asks =
        kept !== undefined && isJsonObject(item) && isKept(item)
          ? kept.parts.getOrInsertComputed(item, () => asksForLongCache(item, within))
          : asksForLongCache(item, within);
      if (asks) return true;
    }
    kept?.short.add(value);
    return false;
  }
  if (!isJsonObject(value)) return false;
  const control = value.cache_control;
  if (isJsonObject(control) && control.ttl !== undefined && control.ttl !== null && control.ttl !== "5m")
    return true;
  if (within !== undefined) return within.some((name) => asksForLongCache(value[name], within, kept));
  // This sees most values of a request, and `for in` makes no list of them.
  for (const name in value) {
    const held = value[name];
    if (typeof held === "object" && !OF_A_TOOL.has(name) && asksForLongCache(held, within, kept)) return true;
  }
  return false;
}

/** What a tool takes or is given, in its own words: a `cache_control` there is no mark. */
const OF_A_TOOL: ReadonlySet<string> = new Set(["input_schema", "input"]);
