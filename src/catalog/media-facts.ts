import type { MediaFacts, ParameterLimits, TokenRule } from "../core/media/media-model.ts";
import type { Category } from "../core/model.ts";
import { compileSchema } from "../core/schema.ts";
import type { MediaData } from "./media-schema.ts";
import { IMAGE_TABLE } from "./parameter-tables/images.ts";
import {
  fieldsOf,
  mediaParameters,
  type MediaTable,
  takesField,
  wordsOf,
} from "./parameter-tables/media-table.ts";
import type { Parameter } from "./parameter-tables/parameter.ts";
import { VIDEO_TABLE } from "./parameter-tables/videos.ts";

/** What is known of an image or video model, as its file says it. Throws a sentence when that cannot be. */
export function readMedia(id: string, category: Category, data: MediaData): MediaFacts {
  if (category !== "image" && category !== "video")
    throw new Error("media is only of models of category image or video");
  const table = category === "image" ? IMAGE_TABLE : VIDEO_TABLE;
  const parameters = Object.fromEntries(
    Object.entries(data.parameters).map(([name, limits]) => [name, readLimits(table, name, limits)]),
  );
  const taken = takenFields(table, id, parameters);
  return {
    parameters,
    defaults: defaultsOf(taken),
    checker: compileSchema(schemaOf(taken)),
    outputTokens: readTokens(data.output_tokens ?? []),
    textTokens: data.text_tokens ?? 0,
    ...(data.images_per_job === undefined ? {} : { imagesPerJob: data.images_per_job }),
    promptSwitches: data.prompt_switches ?? false,
    inputVideoSec: data.input_video_seconds ?? 0,
    ...(data.most_references === undefined ? {} : { mostReferences: data.most_references }),
    ...(data.most_seconds_with_references === undefined
      ? {}
      : { mostSecWithReferences: data.most_seconds_with_references }),
    multiShotExpands: data.multi_shot_expands ?? false,
    expandsWithReferences: data.expands_with_references ?? true,
    audioBesideReferences: data.audio_beside_references ?? "may",
  };
}

function takenFields(
  table: MediaTable,
  id: string,
  parameters: MediaFacts["parameters"],
): readonly Parameter[] {
  const model = { id, media: { parameters } };
  return mediaParameters(table, model).filter(({ name }) => takesField(table, model, name));
}

/** Of each field the values in the interface's own spelling. */
function schemaOf(taken: readonly Parameter[]): object {
  return {
    type: "object",
    required: taken.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(taken.map(({ name, schema }) => [name, schema])),
  };
}

function defaultsOf(taken: readonly Parameter[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    taken
      .filter(({ schema }) => schema.default !== undefined)
      .map(({ name, schema }) => [name, schema.default]),
  );
}

type LimitsData = MediaData["parameters"][string];

function readLimits(table: MediaTable, name: string, data: LimitsData): ParameterLimits {
  const path = `media.parameters.${name}`;
  const field = Object.hasOwn(fieldsOf(table), name) ? fieldsOf(table)[name] : undefined;
  if (field === undefined) throw new Error(`${path} is no field of the interface`);
  const known = wordsOf(field);
  const values = data.values ?? known;
  const strange = data.values?.find((value) => known?.includes(value) !== true);
  if (strange !== undefined)
    throw new Error(`${path}.values has ${strange}, which the interface does not know`);
  const otherwise = data.default ?? field.default;
  if (values !== undefined && !values.some((value) => value === otherwise))
    throw new Error(`${path} needs a default among its values`);
  return {
    ...(data.values === undefined ? {} : { values: data.values }),
    ...(data.default === undefined ? {} : { default: data.default }),
    ...(data.max_length === undefined ? {} : { maxLength: data.max_length }),
    ...(data.max_items === undefined ? {} : { maxItems: data.max_items }),
    ...(data.max_bytes === undefined ? {} : { maxBytes: data.max_bytes }),
    linksOnly: data.links_only ?? false,
    required: data.required ?? false,
  };
}

function readTokens(data: NonNullable<MediaData["output_tokens"]>): readonly TokenRule[] {
  const last = data.at(-1);
  if (last !== undefined && Object.keys(last.when ?? {}).length > 0)
    throw new Error(
      "the last rule of media.output_tokens has a condition: every request must come to a count",
    );
  return data.map(({ when = {}, tokens }) => ({
    ...(when.resolution === undefined ? {} : { resolution: list(when.resolution) }),
    ...(when.size === undefined ? {} : { size: list(when.size) }),
    ...(when.quality === undefined ? {} : { quality: list(when.quality) }),
    tokens,
  }));
}

function list(words: string | readonly string[]): readonly string[] {
  return typeof words === "string" ? [words] : words;
}
