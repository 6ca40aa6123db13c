import type { Modality, Model } from "../core/model.ts";
import type { Demand, ImageInput } from "../protocols/protocol.ts";

/** Tokens of all media of a request: what we would charge if nobody told, and a bound. */
export interface MediaTokens {
  readonly expected: number;
  readonly ceiling: number;
}

/** Bytes of audio, video or document behind one token of it, as a guess for charges that nobody else counted. */
const BYTES_PER_MEDIA_TOKEN = 50;

/** What an image of unknown size is taken for when we must guess. */
const USUAL_SIZE = { width: 1_024, height: 1_024 };

/** Pixels behind one token of an image, near what all vendors have that count by size. */
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
 * The most that a vendor counts for an image. By the model's formula when the size is known, and never above the
 * most of the model: what is larger is scaled down or refused. We do not follow the scaling itself, which can come
 * out a few squares below its limit.
 */
function imageCeiling(model: Model, { size, detail }: ImageInput): number {
  const most = model.mediaTokenCeiling.image ?? 0;
  const formula = model.imageTokens;
  if (formula === undefined) return most;
  // Some vendors enlarge small images to their low detail, so here the size says nothing.
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
