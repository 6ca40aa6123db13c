import { imageSizeOf } from "../../../core/media/image-size.ts";
import type { ImageRequest, PixelSize, VideoRequest } from "../../../core/media/media.ts";
import { priceFacts, tokensFor } from "../../../core/media/media-model.ts";
import type { Model } from "../../../core/model.ts";
import { NO_USAGE, type Usage } from "../../../core/money/usage.ts";
import { MEDIUM_TOKENS, MOST_IMAGE_TOKENS } from "../formats/input-tokens.ts";
import { tokensOf } from "../text-pieces.ts";

/** What a video that goes in is taken to last. */
const INPUT_VIDEO_SEC = 5;

/** Frames a second by which videos are counted in tokens, whatever they have. */
const COUNTED_FPS = 24;

/**
 * What `delivered` images come to, counted as the vendor of the model does: in tokens where it sells them by tokens,
 * else by their number. Where the model is asked to choose a quality, it chooses the medium one.
 */
export function imageUsage(model: Model, request: ImageRequest, delivered: number): Usage {
  const { media } = model;
  if (media === undefined || media.outputTokens.length === 0) return { ...NO_USAGE, images: delivered };
  const quality = request.quality === "auto" ? { quality: "medium" } : {};
  // Several images of Google's are as many calls.
  const calls = model.vendor === "google" ? delivered : 1;
  const given = [...request.images, ...(request.mask === undefined ? [] : [request.mask])];
  return {
    ...NO_USAGE,
    input: calls * tokensOf(request.prompt),
    imageInput: calls * given.reduce((sum, image) => sum + inputTokens(model, image), 0),
    imageOutput: delivered * tokensFor(media.outputTokens, { ...priceFacts(request), ...quality }),
  };
}

function inputTokens({ imageTokens, mediaTokenCeiling }: Model, image: string): number {
  const most = mediaTokenCeiling.image ?? MOST_IMAGE_TOKENS;
  const size = imageSizeOf(image);
  if (size === undefined) return Math.min(most, MEDIUM_TOKENS);
  const side = imageTokens?.patch ?? 32;
  const squares = Math.ceil(size.width / side) * Math.ceil(size.height / side);
  return Math.min(most, (imageTokens?.base ?? 0) + squares * (imageTokens?.perPatch ?? 1));
}

/**
 * What a video of `size` comes to: in tokens by its pixels where the vendor counts so, else in seconds. Videos that were
 * given count too, as far as the model's vendor charges for them.
 */
export function videoUsage(model: Model, request: VideoRequest, { width, height }: PixelSize): Usage {
  const { durationSec, referenceVideos } = request;
  const { media } = model;
  const seconds = durationSec + Math.min(media?.inputVideoSec ?? 0, referenceVideos.length * INPUT_VIDEO_SEC);
  if (media === undefined || media.outputTokens.length === 0) return { ...NO_USAGE, seconds };
  return { ...NO_USAGE, output: Math.ceil((seconds * width * height * COUNTED_FPS) / 1_024) };
}
