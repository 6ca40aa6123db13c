import { Type, type Static } from "typebox";
import { type MediaTable, whole, words } from "./media-table.ts";

/** Words of `quality` of models that do not take a number. */
const QUALITY_WORDS = ["low", "medium", "high", "auto"] as const;
const QUALITY_NUMBERS = ["0.25", "0.5", "1", "2"] as const;

/** The fields of `POST /api/v1/images/generations`, with the interface's types, ranges and defaults. */
export const ImageFieldsSchema = Type.Object({
  model: Type.String({ description: "The model's id, or another name of it" }),
  prompt: Type.String({
    minLength: 1,
    description: "What the image shows, or what is changed in the given ones",
  }),
  async: Type.Optional(
    Type.Boolean({
      default: false,
      description: "Answer at once with a task (202) to be polled; else the answer waits",
    }),
  ),
  timeout: whole(
    [30, 1_800],
    300,
    "Seconds until a task that has not ended fails, the wait in the queue included; nothing is charged then",
  ),
  n: whole([1, 4], 1, "How many images"),
  size: words(
    [
      "512*512",
      "768*768",
      "1024*1024",
      "1536*1536",
      "2048*2048",
      "1024*768",
      "768*1024",
      "1536*1024",
      "1024*1536",
    ],
    "2048*2048",
    "Width and height in pixels; `1024x1024` is the same as `1024*1024`",
  ),
  image_size: words(["1K", "2K", "4K"], "1K", "How large the image is"),
  aspect_ratio: words(
    ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"],
    "1:1",
    "Width to height",
  ),
  image: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), {
      description: "Images to start from: links (http, https), data URIs, or base64; PNG, JPEG, WebP or GIF",
    }),
  ),
  mask: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        "A PNG with an alpha channel, as a link or a data URI: where it is transparent the first image is painted anew",
    }),
  ),
  seed: whole([-1, 2_147_483_647], -1, "The same seed makes the same image likelier; -1 is a random one"),
  quality: words([...QUALITY_NUMBERS, ...QUALITY_WORDS], "1", "How much work goes into the image"),
  background: words(["opaque", "auto"], "auto", "Whether the background is opaque, or as the model chooses"),
  output_format: words(["png", "jpeg", "webp"], "png", "The format of the image's file"),
  version: words(["6", "6.1", "7"], "7", "The version of the model; a number is taken too"),
  niji: words(
    ["close", "0", "5", "6"],
    "close",
    "The version of Niji, for drawings in its style; `close` and `0` are off, a number is taken too",
  ),
  stylize: whole([0, 1_000], 100, "How strongly the model's own taste shows"),
  chaos: whole([0, 100], 0, "How different the images of a job are from each other"),
  weird: whole([0, 3_000], 0, "How unusual the images are"),
  sref: Type.Optional(
    Type.String({ minLength: 1, description: "A link to an image whose style is followed" }),
  ),
  response_format: words(
    ["b64_json", "url"],
    "b64_json",
    "`b64_json`, asked for by name, adds the image's bytes in base64 to the link that every answer has",
  ),
});

/** A request for images whose fields are of the interface; whether the model takes them is another question. */
export type ImageFields = Static<typeof ImageFieldsSchema>;

const asNumbers = (values: readonly string[]): readonly number[] =>
  values.map(Number).filter(Number.isFinite);

/** The interface's table of fields of requests for images. */
export const IMAGE_TABLE: MediaTable = {
  fields: ImageFieldsSchema,
  always: new Set(["model", "prompt", "async", "timeout", "response_format"]),
  spellings: {
    size: (values) => values.map((value) => value.replace("*", "x")),
    version: asNumbers,
    niji: asNumbers,
    quality: (values) =>
      values.includes("low") ? [...QUALITY_NUMBERS, ...asNumbers(QUALITY_NUMBERS)] : asNumbers(values),
  },
};
