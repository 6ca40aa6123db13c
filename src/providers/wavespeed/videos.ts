import type { JsonObject } from "../../core/json/json-value.ts";
import type { VideoRequest } from "../../core/media/media.ts";
import { cannotBeUsed } from "../media-answers.ts";
import type { MediaAdapter } from "../media.ts";
import { createPrediction, pollPrediction } from "./prediction.ts";

/** Wan's videos: from text and from videos by their size in pixels, from a frame by their resolution. */
export const wavespeedVideos: MediaAdapter<VideoRequest> = {
  lacks: ({ referenceImages }) => (referenceImages.length > 0 ? cannotBeUsed("input_references") : undefined),
  create: (request, call) => createPrediction(bodyOf(request), call),
  poll: (job, _request, call) => pollPrediction(job, call),
};

function bodyOf(request: VideoRequest): JsonObject {
  const { prompt, negativePrompt, durationSec, shotType, expandPrompt, seed, firstFrame, resolution } =
    request;
  const { referenceVideos, referenceAudios } = request;
  return {
    prompt,
    ...(negativePrompt === undefined ? {} : { negative_prompt: negativePrompt }),
    duration: durationSec,
    ...(firstFrame === undefined ? { size: sizeOf(request) } : { image: firstFrame, resolution }),
    ...(shotType === undefined ? {} : { shot_type: shotType }),
    ...(expandPrompt === undefined ? {} : { enable_prompt_expansion: expandPrompt }),
    ...(seed === undefined ? {} : { seed }),
    ...(referenceVideos.length === 0 ? {} : { videos: referenceVideos }),
    ...(referenceAudios[0] === undefined ? {} : { audio: referenceAudios[0] }),
  };
}

function sizeOf({ resolution, aspectRatio }: VideoRequest): string {
  const [long, short] = resolution === "1080p" ? [1920, 1080] : [1280, 720];
  return aspectRatio === "9:16" ? `${short}*${long}` : `${long}*${short}`;
}
