import { type ImageFields, IMAGE_TABLE } from "../../../catalog/parameter-tables/images.ts";
import { takesField } from "../../../catalog/parameter-tables/media-table.ts";
import type { ImageRequest, PixelSize } from "../../../core/media/media.ts";
import { isImageFields } from "../../../protocols/images/index.ts";
import { inlineSize, mayBeTransparentPng } from "../../../protocols/media-inputs.ts";
import { checkInputs, checkTaken, defaultOf, type MediaModel, notTaken } from "./model.ts";

/**
 * A request for images as this model takes it, with its defaults filled in. A field that the model does not take must
 * have the interface's default. Throws a 400 that names field and model.
 */
export function imageRequestOf(model: MediaModel, given: ImageFields): ImageRequest {
  const filled: Readonly<Record<string, unknown>> = {
    ...model.media.defaults,
    ...takenFields(model, withWord(model, given)),
  };
  checkTaken(model, filled);
  if (!isImageFields(filled)) throw new Error(`What ${model.id} takes is no request of the interface.`);
  const { prompt, n, seed = -1, size, image_size, aspect_ratio, image = [], mask } = filled;
  const { quality, background, output_format } = filled;
  if (model.media.promptSwitches) refuseSwitches(model, prompt);
  checkInputs(model, "image", image);
  if (mask !== undefined) checkMask(model, mask, image);
  return {
    kind: "image",
    prompt,
    n: model.media.imagesPerJob ?? n ?? 1,
    ...(seed === -1 ? {} : { seed }),
    ...(size === undefined ? {} : { size: pixels(size) }),
    ...(image_size === undefined ? {} : { imageSize: image_size }),
    ...(aspect_ratio === undefined ? {} : { aspectRatio: aspect_ratio }),
    images: image,
    ...(mask === undefined ? {} : { mask }),
    ...(quality === undefined ? {} : { quality }),
    ...(background === undefined ? {} : { background }),
    ...(output_format === undefined ? {} : { outputFormat: output_format }),
    ...styleOf(filled),
  };
}

function styleOf({
  version,
  niji,
  chaos = 0,
  weird = 0,
  stylize = 100,
  sref,
}: ImageFields): Pick<ImageRequest, "midjourney"> {
  if (version === undefined) return {};
  return {
    midjourney: {
      version,
      ...(niji === "5" || niji === "6" ? { niji } : {}),
      chaos,
      weird,
      stylize,
      ...(sref === undefined ? {} : { sref }),
    },
  };
}

/** The fields that the model takes; another field is refused unless it has no effect. */
function takenFields(model: MediaModel, fields: ImageFields): Readonly<Record<string, unknown>> {
  const taken: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (takesField(IMAGE_TABLE, model, name)) taken[name] = value;
    else if (value !== defaultOf(IMAGE_TABLE, name) && !isEmpty(value)) throw refusal(model, name);
  }
  return taken;
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function refusal({ id, media }: MediaModel, name: string): Error {
  const why =
    name === "n" && media.imagesPerJob !== undefined
      ? `${id} makes ${media.imagesPerJob} images at a time, and n cannot be asked for`
      : `${id} does not take ${name}`;
  return notTaken(`${why}: leave it out.`, name);
}

/** On models that have words for quality, a number means the nearest of them. */
const WORD_OF: Readonly<Record<string, "low" | "medium" | "high">> = {
  "0.25": "low",
  "0.5": "medium",
  "1": "high",
  "2": "high",
};

function withWord({ media }: MediaModel, fields: ImageFields): ImageFields {
  const word = fields.quality === undefined ? undefined : WORD_OF[fields.quality];
  const isKnown = word !== undefined && media.parameters.quality?.values?.includes(word) === true;
  return isKnown ? { ...fields, quality: word } : fields;
}

/** `1024*768`. The field's values were checked. */
function pixels(size: string): PixelSize {
  const [width = 0, height = 0] = size.split("*").map(Number);
  return { width, height };
}

/** Dashes that begin a switch: two, or one of those that keyboards make of two. */
const SWITCH = /-{2,}|(?:^|\s)[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+\p{L}/u;

/** Choices in braces, each of which makes a job of its own. */
const CHOICES = /\{[^}]*,[^}]*\}/;

/** A prompt must not set what could change the version, the speed or the number of jobs, and with them the price. */
function refuseSwitches({ id }: MediaModel, prompt: string): void {
  if (SWITCH.test(prompt))
    throw notTaken(
      `prompt must not have switches such as --fast in it on ${id}: they would change what is charged. Use the fields of the request.`,
      "prompt",
    );
  if (CHOICES.test(prompt))
    throw notTaken(
      `prompt must not have choices in braces in it on ${id}: each of them would be a job of its own.`,
      "prompt",
    );
}

function checkMask(model: MediaModel, mask: string, images: readonly string[]): void {
  checkInputs(model, "mask", [mask]);
  if (!mayBeTransparentPng(mask))
    throw notTaken(
      "mask must be a PNG with an alpha channel: where it is transparent is painted anew.",
      "mask",
    );
  const size = inlineSize(mask);
  const first = images[0] === undefined ? undefined : inlineSize(images[0]);
  if (size === undefined || first === undefined) return;
  if (size.width !== first.width || size.height !== first.height)
    throw notTaken(
      `mask must have the size of the first image, ${first.width} by ${first.height}; it has ${size.width} by ${size.height}.`,
      "mask",
    );
}
