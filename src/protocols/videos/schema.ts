import { type VideoFields, VideoFieldsSchema, VIDEO_TABLE } from "../../catalog/parameter-tables/videos.ts";
import { compileSchema } from "../../core/schema.ts";
import { createMeantField } from "../meant-field.ts";
import type { BodyForm } from "../media-request.ts";

const NAMES = Object.keys(VIDEO_TABLE.fields.properties);
const FRAME_NAMES = ["image_url", "frame_type"];

/** How bodies of requests for videos are read: by the table that they are documented by. */
export const VIDEO_FORM: BodyForm<VideoFields> = {
  checker: compileSchema(VideoFieldsSchema),
  names: new Set(NAMES),
  meant: createMeantField(NAMES, {
    model: "model_id model_name",
    prompt: "input text description messages contents",
    duration: "seconds duration_seconds num_seconds video_length length",
    "resolution and aspect_ratio": "size width height dimensions",
    resolution: "quality",
    aspect_ratio: "ratio",
    frame_images: `image images image_url image_urls img_url input_image init_image input_reference
      first_frame first_frame_image first_frame_url start_image start_frame
      last_frame last_frame_image last_frame_url end_image end_frame tail_image`,
    input_references: "reference_image reference_images subject_references",
    reference_videos: "video videos video_url video_urls reference_video",
    reference_audios: "audio audios audio_url audio_urls reference_audio",
    enable_prompt_expansion: "prompt_extend prompt_expansion prompt_optimizer expand_prompt enhance_prompt",
  }),
  makes: "videos",
  members: {
    frame_images: {
      names: new Set(FRAME_NAMES),
      meant: createMeantField(FRAME_NAMES, { image_url: "url image", frame_type: "role position" }),
    },
  },
  spell(name, value, raw) {
    // 5 is the same as "5"; 5.0 and 5e0 are as little of the list as "5.0" and "5e0".
    return name === "duration" && typeof value === "number" ? raw() : value;
  },
};
