import { VIDEO_TABLE } from "../../catalog/parameter-tables/videos.ts";
import { bodySchemaOf } from "../../catalog/parameter-tables/media-table.ts";
import { cancelVideoTask, generateVideo, readVideoTask } from "../../gateway/media/video.ts";
import { CancelledVideoSchema, VideoTaskSchema } from "../../protocols/videos/encode-video.ts";
import type { Route } from "../route.ts";
import { handleMedia, handleTask } from "./media.ts";

/** `POST /api/v1/videos`, and its tasks. */
export const videoRoutes: readonly Route[] = [
  {
    method: "post",
    path: "/api/v1/videos",
    access: "key",
    summary: "Make a video, as a task to be polled",
    tag: "videos",
    body: bodySchemaOf(VIDEO_TABLE),
    answers: { 202: { description: "The task, which is pending", schema: VideoTaskSchema } },
    errors: [400, 402, 503],
    handle: (context) => handleMedia(context, "video", generateVideo),
  },
  {
    method: "get",
    path: "/api/v1/videos/:id",
    access: "key",
    summary: "A video task, to be polled every 3 to 5 seconds",
    tag: "videos",
    answers: { 200: { description: "The task as it stands", schema: VideoTaskSchema } },
    errors: [404],
    handle: (context) => handleTask(context, "video", readVideoTask),
  },
  {
    method: "post",
    path: "/api/v1/videos/:id/cancel",
    access: "key",
    summary: "Cancel a video task while it is pending",
    tag: "videos",
    answers: { 200: { description: "It is cancelled, now or before", schema: CancelledVideoSchema } },
    errors: [404, 409],
    handle: (context) => handleTask(context, "video", cancelVideoTask),
  },
];
