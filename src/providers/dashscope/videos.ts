import type { JsonObject } from "../../core/json/json-value.ts";
import type { VideoRequest } from "../../core/media/media.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import type { MediaAdapter, MediaHttpAnswer, MediaStep } from "../media.ts";
import { isGood, objectAt, refusedQuestion, textAt, wasHeard } from "../media-answers.ts";
import { readFailure, readRefusal } from "./answers.ts";

/**
 * Wan's videos, as tasks of the vendor: from text, from a first frame, or with characters from references.
 * https://www.alibabacloud.com/help/en/model-studio/text-to-video-api-reference
 */
export const dashscopeVideos: MediaAdapter<VideoRequest> = {
  async create(request, { upstreamId, send }): Promise<MediaStep> {
    const answer = await send({
      method: "POST",
      path: "/services/aigc/video-generation/video-synthesis",
      // Without it: 403 "does not support synchronous calls".
      headers: { "x-dashscope-async": "enable" },
      json: { model: upstreamId, ...videoBody(request) },
    });
    if (!isGood(answer)) return { state: "refused", refusal: readRefusal(answer) };
    const output = objectAt(answer.json, "output");
    const job = textAt(output, "task_id");
    if (job === undefined || !JOB.test(job)) return { state: "refused", refusal: readRefusal(answer) };
    return output.task_status === "FAILED"
      ? { state: "refused", refusal: readFailure(output) }
      : { state: "working", job };
  },

  async poll(job, _request, { send }): Promise<MediaStep> {
    const answer = await send({ method: "GET", path: `/tasks/${job}` });
    return isGood(answer) ? readTask(job, answer) : refusedQuestion(answer, readRefusal(answer));
  },

  /** They stop tasks that wait, and no others. */
  async cancel(job, { send }): Promise<boolean> {
    return wasHeard(await send({ method: "POST", path: `/tasks/${job}/cancel` }));
  },
};

/** It stands in a path. */
const JOB = /^[\w-]{1,128}$/;

const SIZES = {
  "720p": { "16:9": "1280*720", "9:16": "720*1280" },
  // The model makes nothing smaller.
  "480p": { "16:9": "1280*720", "9:16": "720*1280" },
  "1080p": { "16:9": "1920*1080", "9:16": "1080*1920" },
} as const;

function videoBody(request: VideoRequest): JsonObject {
  const { prompt, negativePrompt, firstFrame, resolution, aspectRatio = "16:9", durationSec } = request;
  const references = [...request.referenceImages, ...request.referenceVideos];
  const [audio] = request.referenceAudios;
  const hasReferences = references.length > 0 && firstFrame === undefined;
  const size = SIZES[resolution][aspectRatio];
  return {
    input: {
      prompt,
      ...(negativePrompt === undefined ? {} : { negative_prompt: negativePrompt }),
      ...(firstFrame === undefined ? {} : { img_url: firstFrame }),
      ...(hasReferences ? { reference_urls: references } : {}),
      ...(audio === undefined || hasReferences ? {} : { audio_url: audio }),
    },
    parameters: {
      // A video from a frame has the frame's ratio.
      ...(firstFrame === undefined ? { size } : { resolution: resolution === "1080p" ? "1080P" : "720P" }),
      duration: durationSec,
      ...(request.shotType === undefined ? {} : { shot_type: request.shotType }),
      // Theirs is on by default; several shots are made from an expanded prompt only, but for references.
      ...(hasReferences
        ? {}
        : { prompt_extend: request.expandPrompt === true || request.shotType === "multi" }),
      watermark: false,
      ...(request.seed === undefined ? {} : { seed: request.seed }),
    },
  };
}

function readTask(job: string, answer: MediaHttpAnswer): MediaStep {
  const { json } = answer;
  const output = objectAt(json, "output");
  switch (output.task_status) {
    case "SUCCEEDED": {
      const url = textAt(output, "video_url");
      const seconds = billedSeconds(objectAt(json, "usage"));
      return {
        state: "done",
        outputs: url === undefined ? [] : [{ url }],
        ...(seconds === undefined ? {} : { usage: { ...NO_USAGE, seconds } }),
      };
    }
    case "FAILED":
      return { state: "refused", refusal: readFailure(output) };
    case "CANCELED":
      return { state: "refused", refusal: { reason: "failed", message: "", code: "CANCELED" } };
    case "UNKNOWN":
      return { state: "unknown_job" };
    default:
      return textAt(output, "task_status") === undefined
        ? refusedQuestion(answer, readRefusal(answer))
        : { state: "working", job };
  }
}

/** What is billed: with reference videos theirs too. */
function billedSeconds(usage: JsonObject): number | undefined {
  const { duration } = usage;
  return typeof duration === "number" ? duration : undefined;
}
