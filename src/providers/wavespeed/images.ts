import type { JsonObject } from "../../core/json-value.ts";
import type { ImageRequest } from "../../core/media.ts";
import type { MediaAdapter } from "../media.ts";
import { createPrediction, pollPrediction } from "./prediction.ts";

/** Pictures of several vendors, each by the fields that its own model has; a field that is absent is not sent. */
export const wavespeedImages: MediaAdapter<ImageRequest> = {
  create: (request, call) => createPrediction(bodyOf(request), call),
  poll: (job, _request, call) => pollPrediction(job, call),
};

function bodyOf(request: ImageRequest): JsonObject {
  const { prompt, size, seed, quality, outputFormat, aspectRatio, images, mask, midjourney } = request;
  return {
    prompt,
    ...(size === undefined ? {} : { size: `${size.width}*${size.height}` }),
    ...(aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio }),
    ...(seed === undefined ? {} : { seed }),
    ...(quality === undefined ? {} : { quality: midjourney === undefined ? quality : Number(quality) }),
    ...(outputFormat === undefined ? {} : { output_format: outputFormat }),
    ...(images.length === 0 ? {} : midjourney === undefined ? { images } : { image: images[0] }),
    ...(mask === undefined ? {} : { mask }),
    ...(midjourney === undefined ? {} : styleOf(midjourney)),
  };
}

function styleOf({
  version,
  niji,
  chaos,
  weird,
  stylize,
  sref,
}: NonNullable<ImageRequest["midjourney"]>): JsonObject {
  return {
    version,
    niji: niji ?? "close",
    chaos,
    weird,
    stylize,
    ...(sref === undefined ? {} : { sref }),
  };
}
