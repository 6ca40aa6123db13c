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
export function openFound(schemaBytes: number, around: Surroundings): Found {
  return new OpenFound(schemaBytes, around);
}

/** What stands around the text that was sent, each so many times. */
type Surroundings = readonly (readonly [tokens: Tokens, times: number])[];

/** A class, since one is made for each request: its functions are not. */
class OpenFound implements Found {
  readonly #size: TextSize;
  readonly #around: Surroundings;
  /** What was found around the text, once each. */
  #surrounding: Set<Tokens> | undefined;
  readonly #media: Partial<Record<Modality, number>> = {};
  readonly #images: ImageInput[] = [];
  #imageBytes = 0;
  #mediaBytes = 0;
  #namesStored = false;
  /** How much was found that is no text. */
  #others = 0;

  constructor(schemaBytes: number, around: Surroundings) {
    this.#size = { ascii: schemaBytes, alphabetic: 0, ideographic: 0 };
    this.#around = around;
  }

  surround(tokens: Tokens): void {
    (this.#surrounding ??= new Set()).add(tokens);
    this.#others += 1;
  }

  stored(): void {
    this.#namesStored = true;
    this.#others += 1;
  }

  part<Part extends object>(part: Part, measure: Measure<Part>, kept: KeptSizes): void {
    if (!isKept(part)) return measure(part, this);
    const known = kept.get(part);
    if (known !== undefined) return this.size(known);
    const start = { ...this.#size };
    const before = this.#others;
    measure(part, this);
    if (this.#others === before) kept.set(part, sizeSince(this.#size, start));
  }

  parts<Part extends object>(list: readonly Part[], measure: Measure<Part>, kept: KeptListSizes): void {
    if (isKept(list)) this.#keptParts(list, measure, kept);
    else for (const part of list) this.part(part, measure, kept.parts);
  }

  #keptParts<Part extends object>(
    list: readonly Part[],
    measure: Measure<Part>,
    { parts, lists }: KeptListSizes,
  ): void {
    const { count, fact = NO_TEXT } = lists.of(list) ?? { count: 0 };
    const start = { ...this.#size };
    const before = this.#others;
    const sizeSoFar = (): TextSize => sizeSince(this.#size, start);
    this.size(fact);
    for (let at = count; at < list.length; at += 1) {
      this.part(list[at] as Part, measure, parts);
      if (this.#others === before) lists.add(list, at + 1, sizeSoFar);
    }
  }

  size({ ascii, alphabetic, ideographic }: Readonly<TextSize>): void {
    this.#size.ascii += ascii;
    this.#size.alphabetic += alphabetic;
    this.#size.ideographic += ideographic;
  }

  text(value: unknown): void {
    if (value === undefined || value === null) return;
    measureText(typeof value === "string" ? value : JSON.stringify(value), this.#size);
  }

  ascii(characters: number): void {
    this.#size.ascii += characters;
  }

  medium(kind: Modality, bytes = 0): void {
    this.#media[kind] = (this.#media[kind] ?? 0) + 1;
    this.#others += 1;
    this.#mediaBytes += bytes;
  }

  image(bytes: number, sizeOf: () => ImageSize | undefined, detail?: string): void {
    this.medium("image");
    this.#imageBytes += bytes;
    this.#images.push(
      present({ size: this.#images.length < MAX_SIZED_IMAGES ? sizeOf() : undefined, detail }),
    );
  }

  demand(bodyBytes: number, { longCache, ...asked }: Asked): Demand {
    const text = estimateTokens(this.#size);
    let { expected } = text;
    let ceiling = Math.max(text.ceiling, Math.ceil((bodyBytes - this.#imageBytes - this.#mediaBytes) / 2));
    for (const [tokens, times] of this.#around) {
      if (this.#surrounding?.has(tokens) === true) continue;
      expected += tokens.expected * times;
      ceiling += tokens.ceiling * times;
    }
    for (const tokens of this.#surrounding ?? []) {
      expected += tokens.expected;
      ceiling += tokens.ceiling;
    }
    const media = this.#media;
    const buckets: PriceBucket[] = [];
    if (longCache) buckets.push("cache_write_1h");
    if (media.audio !== undefined) buckets.push("audio_input");
    if (asked.outputModalities?.includes("audio") === true) buckets.push("audio_output");
    if (asked.outputModalities?.includes("image") === true) buckets.push("image_output");
    if (asked.webSearches > 0) buckets.push("web_search");
    return {
      textTokens: { expected, ceiling },
      media,
      images: this.#images,
      mediaBytes: this.#mediaBytes,
      buckets,
      ...(this.#namesStored && { namesStored: true }),
      ...asked,
    };
  }
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
      if (itemAsks(value[at], within, kept)) return true;
    }
    kept?.short.add(value);
    return false;
  }
  if (!isJsonObject(value)) return false;
  const control = value.cache_control;
  if (isJsonObject(control) && control.ttl !== undefined && control.ttl !== null && control.ttl !== "5m")
    return true;
  if (within !== undefined) {
    for (const name of within) if (asksForLongCache(value[name], within, kept)) return true;
    return false;
  }
  // This sees most values of a request, and `for in` makes no list of them.
  for (const name in value) {
    const held = value[name];
    if (typeof held === "object" && !OF_A_TOOL.has(name) && asksForLongCache(held, within, kept)) return true;
  }
  return false;
}

function itemAsks(item: unknown, within?: readonly string[], kept?: KeptAnswers): boolean {
  if (kept === undefined || !isJsonObject(item) || !isKept(item)) return asksForLongCache(item, within);
  const known = kept.parts.get(item);
  if (known !== undefined) return known;
  const asks = asksForLongCache(item, within);
  kept.parts.set(item, asks);
  return asks;
}

/** What a tool takes or is given, in its own words: a `cache_control` there is no mark. */
const OF_A_TOOL: ReadonlySet<string> = new Set(["input_schema", "input"]);
