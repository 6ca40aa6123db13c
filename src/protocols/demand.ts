import { type ImageSize, MAX_SIZED_IMAGES } from "../core/image-size.ts";
import { isJsonObject } from "../core/json-value.ts";
import type { Modality } from "../core/model.ts";
import type { TokenBucket } from "../core/price.ts";
import { estimateTokens, type TextSize } from "../core/token-estimate.ts";
import type { Demand, ImageInput } from "./protocol.ts";

/** What has been found in a request so far. Bytes are of media that stand in the body itself. */
export interface Found {
  readonly size: TextSize;
  readonly media: Partial<Record<Modality, number>>;
  readonly images: ImageInput[];
  imageBytes: number;
  otherBytes: number;
}

/** Tokens as a good guess, and as a bound. */
export interface Tokens {
  readonly expected: number;
  readonly ceiling: number;
}

/** What a tool definition adds to its own text. */
export const PER_TOOL: Tokens = { expected: 8, ceiling: 200 };

/** What the presence of tools adds at most where nothing more is known: instructions that come before them unseen. */
export const ANY_TOOL: Tokens = { expected: 0, ceiling: 600 };

/** Nothing yet, but for the definitions and schemas, whose length is what they were sent as. */
export function openFound(schemaBytes: number): Found {
  const size = { ascii: schemaBytes, alphabetic: 0, ideographic: 0 };
  return { size, media: {}, images: [], imageBytes: 0, otherBytes: 0 };
}

/** A medium more; `bytes` of it stand in the body. */
export function addMedium(kind: Modality, found: Found, bytes = 0): void {
  found.media[kind] = (found.media[kind] ?? 0) + 1;
  found.otherBytes += bytes;
}

/** An image more; `size` looks for its size, as long as there are not too many. */
export function addImage(
  found: Found,
  bytes: number,
  size: () => ImageSize | undefined,
  detail?: string,
): void {
  addMedium("image", found);
  found.imageBytes += bytes;
  const seen = found.images.length < MAX_SIZED_IMAGES ? size() : undefined;
  found.images.push({
    ...(seen === undefined ? {} : { size: seen }),
    ...(detail === undefined ? {} : { detail }),
  });
}

/**
 * The input of a request. The guess measures the fields that models read; the bound counts every byte that goes up but
 * those of media, so that text in a field that nobody thought of is held for too. `around` is what stands around the
 * text that was sent, and how often.
 */
export function inputOf(
  { size, media, images, imageBytes, otherBytes }: Found,
  bodyBytes: number,
  around: readonly (readonly [Tokens, number])[],
): Pick<Demand, "textTokens" | "media" | "images" | "mediaBytes"> {
  const text = estimateTokens(size);
  const textBytes = bodyBytes - imageBytes - otherBytes;
  const added = (part: keyof Tokens): number =>
    around.reduce((sum, [tokens, times]) => sum + tokens[part] * times, 0);
  return {
    textTokens: {
      expected: text.expected + added("expected"),
      ceiling: Math.max(text.ceiling, Math.ceil(textBytes / 2)) + added("ceiling"),
    },
    media,
    images,
    mediaBytes: otherBytes,
  };
}

/** The buckets of prices that media in a request, or in its answer, may have of their own. */
export function mediaBuckets({ media }: Found, outputs: readonly Modality[] | undefined): TokenBucket[] {
  return [
    ...(media.audio === undefined ? [] : (["audio_input"] as const)),
    ...(outputs?.includes("audio") === true ? (["audio_output"] as const) : []),
    ...(outputs?.includes("image") === true ? (["image_output"] as const) : []),
  ];
}

/** Whether a `cache_control` asks for more than the usual five minutes; `within`: the members that can have one inside. */
export function asksForLongCache(value: unknown, within?: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((item) => asksForLongCache(item, within));
  if (!isJsonObject(value)) return false;
  const control = value.cache_control;
  if (isJsonObject(control) && control.ttl !== undefined && control.ttl !== null && control.ttl !== "5m")
    return true;
  if (within !== undefined) return within.some((name) => asksForLongCache(value[name], within));
  // This sees every value of a request, and `for in` makes no list of them.
  for (const name in value) {
    const held = value[name];
    if (typeof held === "object" && asksForLongCache(held)) return true;
  }
  return false;
}
