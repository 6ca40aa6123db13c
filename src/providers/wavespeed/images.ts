import type { JsonObject } from "../../core/json/json-value.ts";
import type { ImageRequest, MidjourneyStyle, PixelSize } from "../../core/media/media.ts";
import { doneTogether, noteBegun, oneImageEach, refusedTogether, sendEach } from "../create-each.ts";
import { cannotBeUsed } from "../media-answers.ts";
import type { MediaAdapter, MediaRefusal } from "../media.ts";
import { createPrediction, pollPrediction } from "./prediction.ts";

/**
 * Images of several vendors, each by the fields that its own model has. One to a prediction, but for Midjourney: as
 * many predictions as images, their names in one with commas between.
 */
export const wavespeedImages: MediaAdapter<ImageRequest> = {
  lacks: (request, upstreamId) => lackingFor(request, isGpt(upstreamId)),

  async create(request, call) {
    const isOfGpt = isGpt(call.upstreamId);
    const requests = request.midjourney === undefined ? oneImageEach(request) : [request];
    const end = await sendEach(requests, call, (one) => createPrediction(bodyOf(one, isOfGpt), call));
    // Midjourney makes all images of a request in one prediction.
    if (request.midjourney === undefined) noteBegun(end, call);
    const begun = end.steps.flatMap((step) => (step.state === "working" ? [step.job] : []));
    // What has begun is followed; only where nothing has, it matters how the others went.
    return begun.length > 0 ? { state: "working", job: begun.join(",") } : refusedTogether(end);
  },

  async poll(job, _request, call) {
    const steps = await Promise.all(job.split(",").map((name) => pollPrediction(name, call)));
    if (steps.some(({ state }) => state === "working")) return { state: "working", job };
    const unanswered = steps.find((step) => step.state === "refused" && !isOfWork(step.refusal));
    return unanswered ?? doneTogether(steps) ?? refusedTogether({ steps, broken: [] });
  },
};

function isGpt(upstreamId: string): boolean {
  return upstreamId.startsWith("openai/gpt-image");
}

/** What this request has that their model does not take. */
function lackingFor(request: ImageRequest, isOfGpt: boolean): MediaRefusal | undefined {
  const { images, mask, outputFormat = "png", midjourney, aspectRatio = "1:1", size } = request;
  if (mask !== undefined) return cannotBeUsed("mask");
  if (outputFormat !== "png") return cannotBeUsed(`output_format ${outputFormat}`);
  if (isOfGpt && size !== undefined && shapeOf(size) === undefined)
    return cannotBeUsed(`size ${size.width}*${size.height}`);
  if (midjourney === undefined) return undefined;
  if (images.length > 0) return cannotBeUsed("image");
  return SHAPES_OF_MIDJOURNEY.has(aspectRatio) ? undefined : cannotBeUsed(`aspect_ratio ${aspectRatio}`);
}

const SHAPES_OF_MIDJOURNEY: ReadonlySet<string> = new Set(
  "1:1 9:16 16:9 4:3 3:4 2:3 3:2 9:21 21:9".split(" "),
);

/** gpt-image is asked for a shape and a resolution, not for pixels; each is the size that OpenAI makes of it. */
function shapeOf({ width, height }: PixelSize): JsonObject | undefined {
  switch (`${width}*${height}`) {
    case "1024*1024":
      return { aspect_ratio: "1:1", resolution: "1k" };
    case "2048*2048":
      return { aspect_ratio: "1:1", resolution: "2k" };
    case "1536*1024":
      return { aspect_ratio: "3:2", resolution: "1k" };
    case "1024*1536":
      return { aspect_ratio: "2:3", resolution: "1k" };
    case "1024*768":
      return { aspect_ratio: "4:3", resolution: "1k" };
    case "768*1024":
      return { aspect_ratio: "3:4", resolution: "1k" };
    default:
      return undefined;
  }
}

/** Whether it is the work that came to nothing; a question that did is asked again. */
function isOfWork({ reason }: MediaRefusal): boolean {
  return !["busy", "beyond_limit", "unclear", "operator_fault"].includes(reason);
}

function bodyOf(request: ImageRequest, isOfGpt: boolean): JsonObject {
  const { prompt, size, seed, aspectRatio, images, midjourney } = request;
  return {
    prompt,
    ...(size === undefined ? {} : isOfGpt ? shapeOf(size) : { size: `${size.width}*${size.height}` }),
    ...(aspectRatio === undefined ? {} : { aspect_ratio: aspectRatio }),
    ...(seed === undefined ? {} : { seed }),
    ...qualityOf(request),
    ...(images.length === 0 ? {} : { images }),
    ...(midjourney === undefined ? {} : styleOf(midjourney)),
  };
}

/** They have no `auto`; what is charged for it is the most, which is what is made then. */
function qualityOf({ quality, midjourney }: ImageRequest): JsonObject {
  if (quality === undefined) return {};
  if (midjourney !== undefined) return { quality: Number(quality) };
  return { quality: quality === "auto" ? "high" : quality };
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
