import { takesField } from "../../../catalog/parameter-tables/media-table.ts";
import { VIDEO_TABLE } from "../../../catalog/parameter-tables/videos.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { VideoRequest } from "../../../core/media/media.ts";
import type { VideoBody } from "../../../protocols/videos/index.ts";
import { checkInputs, checkTaken, defaultOf, type MediaModel, notTaken } from "./model.ts";

/** A request for a video as this model takes it, and the replacements that it needed, a sentence each. */
export interface VideoTaken {
  readonly request: VideoRequest;
  readonly warnings: readonly string[];
}

/**
 * A request for a video as this model takes it, with its defaults filled in. A value of the interface that the model
 * does not have is replaced by the nearest, with a warning. Throws a 400 that names field and model where there is
 * none.
 */
export function videoRequestOf(model: MediaModel, body: VideoBody): VideoTaken {
  const warnings: string[] = [];
  checkMeans(body);
  const resolution = nearestResolution(model, body.resolution ?? "720p", warnings);
  checkLimits(model, { ...body, resolution });
  const shots = shotsOf(model, body, warnings);
  const prompt = promptOf(model, body, warnings);
  const durationSec = Number(body.duration ?? "5");
  checkReferences(model, body, durationSec);
  const { seed = -1, firstFrame, lastFrame } = body;
  return {
    request: {
      kind: "video",
      prompt,
      ...(seed === -1 ? {} : { seed }),
      durationSec,
      resolution,
      ...(firstFrame === undefined ? { aspectRatio: body.aspect_ratio ?? "16:9" } : {}),
      ...shots,
      ...negativeOf(model, body),
      ...(firstFrame === undefined ? {} : { firstFrame }),
      ...(lastFrame === undefined ? {} : { lastFrame }),
      referenceImages: body.input_references,
      referenceVideos: body.reference_videos,
      referenceAudios: body.reference_audios,
    },
    warnings,
  };
}

const REFERENCES = ["input_references", "reference_videos", "reference_audios"] as const;

/** A video is made from frames, or from text and references: fields of one way do not go with the other. */
function checkMeans(body: VideoBody): void {
  if (body.firstFrame === undefined) return;
  const name = REFERENCES.find((list) => body[list].length > 0);
  if (name !== undefined) throw notTaken(`${name} and frame_images do not go together: send one.`, name);
  if ((body.aspect_ratio ?? "16:9") !== defaultOf(VIDEO_TABLE, "aspect_ratio"))
    throw notTaken(
      "aspect_ratio and frame_images do not go together: the video has the shape of its frames.",
      "aspect_ratio",
    );
}

const RESOLUTIONS = ["480p", "720p", "1080p"] as const;
type Resolution = (typeof RESOLUTIONS)[number];

/** The value asked for, or the nearest that the model makes; the larger of two that are as near. */
function nearestResolution({ id, media }: MediaModel, asked: Resolution, warnings: string[]): Resolution {
  const made = media.parameters.resolution?.values ?? RESOLUTIONS;
  const distance = (one: Resolution): number =>
    Math.abs(RESOLUTIONS.indexOf(one) - RESOLUTIONS.indexOf(asked));
  const nearest = RESOLUTIONS.filter((one) => made.includes(one))
    .toSorted((a, b) => RESOLUTIONS.indexOf(b) - RESOLUTIONS.indexOf(a))
    .toSorted((a, b) => distance(a) - distance(b))[0];
  if (nearest === undefined || nearest === asked) return asked;
  warnings.push(`resolution was set to ${nearest}, at its price: ${id} does not make ${asked}`);
  return nearest;
}

/** Counts, lengths and forms that the model takes. */
function checkLimits(model: MediaModel, body: VideoBody): void {
  const frames = [body.firstFrame, body.lastFrame].filter((frame) => frame !== undefined);
  if (frames.length > (model.media.parameters.frame_images?.maxItems ?? 2))
    throw notTaken(`${model.id} takes a first frame only: leave the last one out.`, "frame_images");
  const { firstFrame: _, lastFrame: __, ...fields } = body;
  const taken = Object.entries({ ...fields, frame_images: frames }).filter(([name]) =>
    takesField(VIDEO_TABLE, model, name),
  );
  checkTaken(model, Object.fromEntries(taken));
  checkInputs(model, "frame_images", frames);
  for (const name of REFERENCES) checkInputs(model, name, body[name]);
}

function checkReferences({ id, media }: MediaModel, body: VideoBody, durationSec: number): void {
  const { input_references: images, reference_videos: videos, reference_audios: audios } = body;
  const seen = images.length + videos.length;
  const first = REFERENCES.find((name) => body[name].length > 0) ?? "input_references";
  if (media.mostReferences !== undefined && seen > media.mostReferences)
    throw notTaken(`${first}: ${id} takes at most ${media.mostReferences} references in all.`, first);
  if (seen > 0 && durationSec > (media.mostSecWithReferences ?? Infinity))
    throw notTaken(
      `duration must be at most ${media.mostSecWithReferences} with references on ${id}.`,
      "duration",
    );
  if (audios.length === 0) return;
  if (media.audioBesideReferences === "must" && seen === 0)
    throw notTaken(
      `reference_audios needs input_references or reference_videos beside it on ${id}.`,
      "reference_audios",
    );
  if (media.audioBesideReferences === "never" && seen > 0)
    throw notTaken(`reference_audios does not go with other references on ${id}.`, "reference_audios");
}

/** How many shots, and whether the prompt is expanded: several shots may need an expanded prompt. */
function shotsOf(
  model: MediaModel,
  body: VideoBody,
  warnings: string[],
): Pick<VideoRequest, "shotType" | "expandPrompt"> {
  const { id, media } = model;
  const takesShots = takesField(VIDEO_TABLE, model, "shot_type");
  const shots = takesShots ? { shotType: body.shot_type ?? "single" } : {};
  const asked = body.enable_prompt_expansion ?? false;
  const left = (why: string): string => `enable_prompt_expansion was left out: ${id} ${why}`;
  if (!takesField(VIDEO_TABLE, model, "enable_prompt_expansion")) {
    if (asked) warnings.push(left("does not take it"));
    return shots;
  }
  const referred = body.input_references.length + body.reference_videos.length > 0;
  if (referred && !media.expandsWithReferences) {
    if (asked) warnings.push(left("expands no prompt with references"));
    return { ...shots, expandPrompt: false };
  }
  if (asked || !media.multiShotExpands || shots.shotType !== "multi")
    return { ...shots, expandPrompt: asked };
  warnings.push(
    `enable_prompt_expansion was switched on: ${id} makes several shots of an expanded prompt only`,
  );
  return { ...shots, expandPrompt: true };
}

function negativeOf(
  model: MediaModel,
  { negative_prompt = "" }: VideoBody,
): Pick<VideoRequest, "negativePrompt"> {
  const isTaken = negative_prompt !== "" && takesField(VIDEO_TABLE, model, "negative_prompt");
  return isTaken ? { negativePrompt: negative_prompt } : {};
}

/** The prompt, with words in place of fields that the model does not have. */
function promptOf(model: MediaModel, body: VideoBody, warnings: string[]): string {
  const { shot_type = "single", negative_prompt = "" } = body;
  const shots = shot_type === "multi" ? "Tell it in several shots." : "";
  const avoided = negative_prompt === "" ? "" : `Avoid: ${negative_prompt}`;
  const withShots = sayInPrompt(model, body.prompt, { name: "shot_type", words: shots }, warnings);
  return sayInPrompt(model, withShots, { name: "negative_prompt", words: avoided }, warnings);
}

/** The prompt with the words of a field, where there are any and the model has no such field. */
function sayInPrompt(
  model: MediaModel,
  prompt: string,
  { name, words }: { readonly name: string; readonly words: string },
  warnings: string[],
): string {
  const { id, media } = model;
  if (words === "" || takesField(VIDEO_TABLE, model, name)) return prompt;
  const whole = `${prompt}\n\n${words}`;
  // The client's prompt was checked before, so only the added words can make it too long.
  if (!media.checker.accepts({ model: id, prompt: whole }))
    throw new GatewayError(
      "input_too_large",
      `${name} is said in the prompt on ${id}, which may have ${media.parameters.prompt?.maxLength} characters in all.`,
      { param: name },
    );
  warnings.push(`${name} was said in the prompt: ${id} does not take it`);
  return whole;
}
