import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { VideoRequest } from "../../core/media/media.ts";
import { cannotBeUsed } from "../media-answers.ts";
import type { MediaAdapter, MediaDone } from "../media.ts";
import { cancelRequest, pollRequest, queueRequest } from "./queue.ts";

/** Videos of Wan and of Seedance, each by its own inputs. */
export const falVideos: MediaAdapter<VideoRequest> = {
  lacks: ({ referenceImages }, upstreamId) =>
    referenceImages.length > 0 && !isSeedance(upstreamId) ? cannotBeUsed("input_references") : undefined,
  create: (request, call) =>
    queueRequest(isSeedance(call.upstreamId) ? seedanceInput(request) : wanInput(request), call),
  poll: (job, _request, call) => pollRequest(job, call, readVideo),
  cancel: cancelRequest,
};

function isSeedance(upstreamId: string): boolean {
  return upstreamId.startsWith("bytedance/");
}

/** Its references are videos alone. */
function wanInput(request: VideoRequest): JsonObject {
  const { negativePrompt, shotType, expandPrompt, seed, referenceAudios, referenceVideos } = request;
  return {
    ...common(request),
    ...(negativePrompt === undefined ? {} : { negative_prompt: negativePrompt }),
    ...(shotType === undefined ? {} : { multi_shots: shotType === "multi" }),
    ...(expandPrompt === undefined ? {} : { enable_prompt_expansion: expandPrompt }),
    ...(seed === undefined ? {} : { seed }),
    ...(referenceVideos.length === 0 ? {} : { video_urls: referenceVideos }),
    ...(referenceAudios[0] === undefined ? {} : { audio_url: referenceAudios[0] }),
  };
}

/** It takes no seed. */
function seedanceInput(request: VideoRequest): JsonObject {
  const { referenceImages, referenceVideos, referenceAudios, lastFrame } = request;
  return {
    ...common(request),
    generate_audio: true,
    ...(lastFrame === undefined ? {} : { end_image_url: lastFrame }),
    ...(referenceImages.length === 0 ? {} : { image_urls: referenceImages }),
    ...(referenceVideos.length === 0 ? {} : { video_urls: referenceVideos }),
    ...(referenceAudios.length === 0 ? {} : { audio_urls: referenceAudios }),
  };
}

function common({ prompt, durationSec, resolution, aspectRatio, firstFrame }: VideoRequest): JsonObject {
  return {
    prompt,
    duration: String(durationSec),
    resolution,
    ...(firstFrame === undefined ? {} : { image_url: firstFrame }),
    ...(aspectRatio === undefined || firstFrame !== undefined ? {} : { aspect_ratio: aspectRatio }),
  };
}

function readVideo({ video }: JsonObject): MediaDone {
  const url = isJsonObject(video) ? video.url : undefined;
  return { state: "done", outputs: typeof url === "string" ? [{ url }] : [] };
}
