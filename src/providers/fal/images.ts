import { type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import type { MediaAdapter, MediaDone, MediaRefusal } from "../media.ts";
import { cancelRequest, pollRequest, queueRequest } from "./queue.ts";

/** Images of several vendors. Their inputs differ in what they have, hardly in what they call it. */
export const falImages: MediaAdapter<ImageRequest> = {
  create: (request, call) => queueRequest(inputOf(request, call.upstreamId), call),
  poll: (job, _request, call) => pollRequest(job, call, readImages),
  cancel: cancelRequest,
};

/** `background` is no input of theirs: what is made has no transparency either way. */
function inputOf(request: ImageRequest, upstreamId: string): JsonObject {
  const { prompt, n, size, imageSize, aspectRatio, seed, quality, images, mask } = request;
  const { outputFormat = "png" } = request;
  return {
    prompt,
    num_images: n,
    ...(size === undefined ? {} : { image_size: { width: size.width, height: size.height } }),
    ...(imageSize === undefined ? {} : { resolution: imageSize }),
    ...(aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio }),
    ...(seed === undefined ? {} : { seed }),
    // Theirs is "high": the dearest.
    ...(quality === undefined ? {} : { quality }),
    output_format: outputFormat,
    ...(images.length === 0 ? {} : { image_urls: images }),
    ...(mask === undefined ? {} : { mask_url: mask }),
    // On by default, it would draw something else than was asked for.
    ...(upstreamId.startsWith("fal-ai/qwen-image") ? { enable_prompt_expansion: false } : {}),
  };
}

/** An image that its filter blackened is not delivered. */
function readImages({ images, has_nsfw_concepts: unsafe }: JsonObject): MediaDone | MediaRefusal {
  const given = objectsIn(images);
  const kept = given.filter((_, place) => !(Array.isArray(unsafe) && unsafe[place] === true));
  if (kept.length === 0 && given.length > 0)
    return { reason: "moderation", message: "What was made may not be shown." };
  return {
    state: "done",
    outputs: kept.flatMap(({ url }) => (typeof url === "string" ? [{ url }] : [])),
  };
}
