import type { JsonObject } from "../../core/json-value.ts";
import type { ImageRequest, MidjourneyStyle } from "../../core/media.ts";
import type { MediaAdapter, MediaDone, MediaRefusal, MediaStep } from "../media.ts";
import { createPrediction, pollPrediction } from "./prediction.ts";

/**
 * Pictures of several vendors, each by the fields that its own model has. One to a prediction, but for Midjourney: as
 * many predictions as pictures, their names in one with commas between.
 */
export const wavespeedImages: MediaAdapter<ImageRequest> = {
  async create(request, call) {
    const problem = problemOf(request);
    if (problem !== undefined)
      return { state: "refused", refusal: { reason: "invalid_request", message: problem } };
    const { midjourney, n } = request;
    const places = Array.from({ length: midjourney === undefined ? n : 1 }, (_, i) => i);
    const ends = await Promise.allSettled(
      places.map((place) => createPrediction(bodyOf({ ...request, ...seedAt(request, place) }), call)),
    );
    call.signal.throwIfAborted();
    const steps = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    const begun = steps.flatMap((step) => (step.state === "working" ? [step.job] : []));
    // What has begun is followed; only where nothing has, it matters how the others went.
    if (begun.length > 0) return { state: "working", job: begun.join(",") };
    const broken = ends.find((end) => end.status === "rejected");
    if (broken !== undefined) throw broken.reason;
    return refusedTogether(steps);
  },

  async poll(job, _request, call) {
    const steps = await Promise.all(job.split(",").map((name) => pollPrediction(name, call)));
    if (steps.some(({ state }) => state === "working")) return { state: "working", job };
    const unanswered = steps.find((step) => step.state === "refused" && !isOfWork(step.refusal));
    if (unanswered !== undefined) return unanswered;
    const done = steps.filter((step): step is MediaDone => step.state === "done");
    return done.length === 0
      ? refusedTogether(steps)
      : { state: "done", outputs: done.flatMap(({ outputs }) => outputs) };
  },
};

/** What this request has that none of their models takes; in words. */
function problemOf({ images, mask, outputFormat = "png", midjourney }: ImageRequest): string | undefined {
  if (mask !== undefined) return "mask cannot be used now: the model's present provider takes none.";
  if (outputFormat !== "png")
    return "output_format can only be png now: the model's present provider makes no other.";
  if (midjourney !== undefined && images.length > 1)
    return "image can have one picture only now: the model's present provider takes no more.";
  return undefined;
}

/** Each picture has a seed of its own, or all would be one picture. */
function seedAt({ seed }: ImageRequest, place: number): Pick<ImageRequest, "seed"> {
  return seed === undefined ? {} : { seed: (seed + place) % 2 ** 31 };
}

/** Whether it is the work that came to nothing; a question that did is asked again. */
function isOfWork({ reason }: MediaRefusal): boolean {
  return reason !== "busy" && reason !== "unclear" && reason !== "operator_fault";
}

/** Why none of several predictions was made: only what surely began nowhere is busy. */
function refusedTogether(steps: readonly MediaStep[]): MediaStep {
  const refused = steps.filter((step) => step.state === "refused");
  return (
    refused.find(({ refusal }) => refusal.reason !== "busy" && refusal.reason !== "unclear") ??
    refused.find(({ refusal }) => refusal.reason === "unclear") ??
    refused[0] ?? { state: "unknown_job" }
  );
}

function bodyOf(request: ImageRequest): JsonObject {
  const { prompt, size, seed, quality, aspectRatio, images, midjourney } = request;
  return {
    prompt,
    ...(size === undefined ? {} : { size: `${size.width}*${size.height}` }),
    ...(aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio }),
    ...(seed === undefined ? {} : { seed }),
    ...(quality === undefined ? {} : { quality: midjourney === undefined ? quality : Number(quality) }),
    ...(images.length === 0 ? {} : midjourney === undefined ? { images } : { image: images[0] }),
    ...(midjourney === undefined ? {} : styleOf(midjourney)),
  };
}

/** What is not said has a default of theirs, which is not ours. */
function styleOf({ version, niji, chaos, weird, stylize, sref }: MidjourneyStyle): JsonObject {
  return {
    version,
    niji: niji ?? "close",
    chaos,
    weird,
    stylize,
    ...(sref === undefined ? {} : { sref }),
  };
}
