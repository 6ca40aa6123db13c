import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { VideoRequest } from "../../core/media/media.ts";
import { NO_USAGE, type Usage } from "../../core/money/usage.ts";
import { endedWith, isGood, refusedQuestion, textAt, wasHeard } from "../media-answers.ts";
import type { MediaAdapter, MediaCall, MediaStep } from "../media.ts";
import { readFailure, readRefusal } from "./answers.ts";

/**
 * Seedance, as tasks: created, asked after, deleted while queued. There is no key by which a task could be found
 * again. https://docs.byteplus.com/en/docs/ModelArk/1520757
 */
export const arkVideos: MediaAdapter<VideoRequest> = {
  async create(request, call) {
    const answer = await call.send({ method: "POST", path: TASKS, json: bodyOf(request, call) });
    const job = isGood(answer) && isJsonObject(answer.json) ? textAt(answer.json, "id") : undefined;
    if (job === undefined || !JOB.test(job)) return { state: "refused", refusal: readRefusal(answer) };
    return { state: "working", job, pollAfterMs: FIRST_POLL_MS };
  },

  async poll(job, _request, call) {
    const answer = await call.send({ method: "GET", path: `${TASKS}/${job}` });
    return isGood(answer) && isJsonObject(answer.json) && textAt(answer.json, "status") !== undefined
      ? readTask(job, answer.json)
      : refusedQuestion(answer, readRefusal(answer));
  },

  /** Takes a queued task out; a running one goes on, and its answer says so. */
  async cancel(job, call) {
    return wasHeard(await call.send({ method: "DELETE", path: `${TASKS}/${job}` }));
  },
};

const TASKS = "/contents/generations/tasks";

const FIRST_POLL_MS = 5_000;

/** It stands in a path. */
const JOB = /^[\w-]{1,128}$/;

/** A field that a model does not know is a 400 there; what is not said here has its default. */
function bodyOf(request: VideoRequest, call: MediaCall): JsonObject {
  const { prompt, firstFrame, lastFrame, resolution, durationSec, seed, aspectRatio } = request;
  const hasFrames = firstFrame !== undefined || lastFrame !== undefined;
  return {
    model: call.upstreamId,
    content: [
      { type: "text", text: prompt },
      ...mediumOf("image_url", "first_frame", firstFrame),
      ...mediumOf("image_url", "last_frame", lastFrame),
      ...request.referenceImages.flatMap((url) => mediumOf("image_url", "reference_image", url)),
      ...request.referenceVideos.flatMap((url) => mediumOf("video_url", "reference_video", url)),
      ...request.referenceAudios.flatMap((url) => mediumOf("audio_url", "reference_audio", url)),
    ],
    ratio: hasFrames || aspectRatio === undefined ? "adaptive" : aspectRatio,
    resolution,
    duration: durationSec,
    ...(seed === undefined ? {} : { seed }),
    watermark: false,
    generate_audio: true,
  };
}

function mediumOf(
  type: "image_url" | "video_url" | "audio_url",
  role: string,
  url: string | undefined,
): JsonObject[] {
  return url === undefined ? [] : [{ type, [type]: { url }, role }];
}

function readTask(job: string, task: JsonObject): MediaStep {
  switch (task.status) {
    case "succeeded":
      return readDone(task);
    case "failed":
      return { state: "refused", refusal: endedWith(readFailure(task)) };
    case "cancelled":
    case "expired":
      return { state: "refused", refusal: { reason: "failed", message: "", code: task.status } };
    default:
      return { state: "working", job };
  }
}

function readDone({ content, usage }: JsonObject): MediaStep {
  const url = isJsonObject(content) ? content.video_url : undefined;
  const tokens = isJsonObject(usage) ? countOf(usage.completion_tokens) : undefined;
  const counted: Usage | undefined = tokens === undefined ? undefined : { ...NO_USAGE, output: tokens };
  return {
    state: "done",
    outputs: typeof url === "string" ? [{ url }] : [],
    ...(counted === undefined ? {} : { usage: counted }),
  };
}

/** Counts have been seen as text. */
function countOf(value: unknown): number | undefined {
  const count = typeof value === "string" && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}
