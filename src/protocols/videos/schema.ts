import { type VideoFields, VideoFieldsSchema, VIDEO_TABLE } from "../../catalog/parameter-tables/videos.ts";
import { compileSchema } from "../../core/schema.ts";
import type { BodyForm } from "../media-request.ts";

/** How bodies of requests for videos are read: by the table that they are documented by. */
export const VIDEO_FORM: BodyForm<VideoFields> = {
  checker: compileSchema(VideoFieldsSchema),
  names: new Set(Object.keys(VIDEO_TABLE.fields.properties)),
  makes: "videos",
  members: { frame_images: new Set(["image_url", "frame_type"]) },
  spell(name, value, raw) {
    // 5 is the same as "5"; 5.0 and 5e0 are as little of the list as "5.0" and "5e0".
    return name === "duration" && typeof value === "number" ? raw() : value;
  },
};
