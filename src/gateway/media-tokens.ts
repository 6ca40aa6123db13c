import type { Modality, Model } from "../core/model.ts";
import type { Demand, ImageInput } from "../protocols/protocol.ts";

/** Tokens of all media of a request: the expected number, charged where the provider does not count, and a bound. */
export interface MediaTokens {
  readonly expected: number;
  readonly ceiling: number;
}

/**
 * The least that a medium counts for before its content is known: a page, half a minute, a quarter of one. A medium
 * behind a link is not fetched and counts so.
 */
const LEAST_TOKENS: Readonly<Partial<Record<Modality, number>>> = { pdf: 2_700, audio: 1_000, video: 5_000 };

/** Bytes for each token of audio, video or document, as a guess where the provider does not count. */
const BYTES_PER_MEDIA_TOKEN = 50;

/** An image of unknown size is guessed at this many tokens. */
const USUAL_SIZE = { width: 1_024, height: 1_024 };

/** Pixels for each token of an image, near what all vendors have that count by size. */
const PIXELS_PER_TOKEN = 750;

/** Counts the media of a request by the data of `model`. */
export function mediaTokens(
  model: Model,
  demand: Pick<Demand, "media" | "mediaBytes" | "images">,
): MediaTokens {
  let ceiling = 0;
  for (const [kind, count] of Object.entries(demand.media) as [Modality, number][]) {
    if (kind !== "image") ceiling += (model.mediaTokenCeiling[kind] ?? 0) * count;
  }
  let expected = Math.min(Math.ceil(ceiling / 3), Math.ceil(demand.mediaBytes / BYTES_PER_MEDIA_TOKEN));
  for (const image of demand.images) {
    ceiling += imageCeiling(model, image);
    expected += expectedImage(model, image);
  }
  return { expected, ceiling };
}

/**
 * Tokens of the media of a request by kind, rather too high than too low. Images count at the most of the model's
 * formula. The rest counts by its bytes, of which each kind gets its part.
 */
export function cautiousMediaTokens(
  model: Model,
  { media, mediaBytes, images }: Pick<Demand, "media" | "mediaBytes" | "images">,
): Readonly<Partial<Record<Modality, number>>> {
  const others = (Object.entries(media) as [Modality, number][]).filter(([kind]) => kind !== "image");
  const all = others.reduce((sum, [, count]) => sum + count, 0);
  const counted = others.map(([kind, count]): [Modality, number] => {
    const bytes = (mediaBytes * count) / all;
    const tokens = Math.max((LEAST_TOKENS[kind] ?? 0) * count, Math.ceil(bytes / BYTES_PER_MEDIA_TOKEN));
    return [kind, Math.min(tokens, (model.mediaTokenCeiling[kind] ?? Infinity) * count)];
  });
  const image = images.reduce((sum, each) => sum + imageCeiling(model, each), 0);
  return Object.fromEntries([...(images.length === 0 ? [] : [["image", image]]), ...counted]);
}

/**
 * The most that a vendor counts for an image, by the model's formula when the size is known. It is at most the model's
 * ceiling, since vendors scale down or refuse larger images. The scaling itself is not computed; its result can be a
 * few squares below the ceiling.
 */
function imageCeiling(model: Model, { size, detail }: ImageInput): number {
  const most = model.mediaTokenCeiling.image ?? 0;
  const formula = model.imageTokens;
  if (formula === undefined) return most;
  // Some vendors enlarge small images to their low detail, so the size does not count here.
  if (detail === "low" && formula.low !== undefined) return formula.low;
  const limit = detail === "high" ? (formula.high ?? most) : most;
  if (size === undefined) return limit;
  const squares = Math.ceil(size.width / formula.patch) * Math.ceil(size.height / formula.patch);
  return Math.min(limit, Math.ceil(formula.base + squares * formula.perPatch));
}

function expectedImage(model: Model, image: ImageInput): number {
  const size = image.size ?? USUAL_SIZE;
  const ceiling = imageCeiling(model, { ...image, size });
  if (model.imageTokens !== undefined) return ceiling;
  return Math.min(ceiling, Math.ceil((size.width * size.height) / PIXELS_PER_TOKEN));
}
