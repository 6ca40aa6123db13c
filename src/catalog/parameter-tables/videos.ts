import { Type, type Static } from "typebox";
import { AS_LINKS, type MediaTable, whole, words } from "./media-table.ts";

const links = (description: string) =>
  Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description }));

/** The fields of `POST /api/v1/videos`, with the interface's types, ranges and defaults. */
export const VideoFieldsSchema = Type.Object({
  model: Type.String({ description: "The model's id, or another name of it" }),
  prompt: Type.String({ minLength: 1, description: "What happens in the video" }),
  timeout: whole(
    [60, 3_600],
    600,
    "Seconds until a task that has not ended fails, the wait in the queue included; nothing is charged then",
  ),
  duration: words(["5", "10", "15"], "5", "Seconds; a number is taken too"),
  resolution: words(["480p", "720p", "1080p"], "720p", "How large the video is"),
  aspect_ratio: words(
    ["16:9", "9:16"],
    "16:9",
    "Width to height; from text and references only, as frames have their own",
  ),
  seed: whole([-1, 2_147_483_647], -1, "The same seed makes the same video likelier; -1 is a random one"),
  frame_images: Type.Optional(
    Type.Array(
      Type.Union([
        Type.String({ minLength: 1 }),
        Type.Object({
          image_url: Type.String({ minLength: 1 }),
          frame_type: Type.Optional(Type.Enum(["first_frame", "last_frame"], { type: "string" })),
        }),
      ]),
      {
        maxItems: 2,
        description:
          'The image that the video begins with, and the one that it ends with where the model takes two: links, data URIs or base64, or `{"image_url":"…","frame_type":"first_frame"}`, `last_frame`. Not together with references',
      },
    ),
  ),
  shot_type: words(["single", "multi"], "single", "One shot, or a story in several"),
  negative_prompt: Type.Optional(Type.String({ description: "What to avoid" })),
  enable_prompt_expansion: Type.Optional(
    Type.Boolean({ default: false, description: "Let the model write the prompt out first" }),
  ),
  input_references: links(`Images of what or who appears${AS_LINKS}, data URIs or base64`),
  reference_audios: links(`Audio to follow${AS_LINKS} or data URIs`),
  reference_videos: links(`Videos whose motion, style or characters are followed${AS_LINKS}`),
});

/** A request for a video whose fields are of the interface; whether the model takes them is another question. */
export type VideoFields = Static<typeof VideoFieldsSchema>;

/** The interface's table of fields of requests for videos. */
export const VIDEO_TABLE: MediaTable = {
  fields: VideoFieldsSchema,
  always: new Set(["model", "prompt", "timeout"]),
  spellings: { duration: (values) => values.map(Number) },
};
