import { IMAGE_TABLE } from "../../catalog/parameter-tables/images.ts";
import { bodySchemaOf } from "../../catalog/parameter-tables/media-table.ts";
import { cancelImageTask, generateImage, readImageTask } from "../../gateway/media/image.ts";
import {
  CancelledImageSchema,
  ImageResultSchema,
  ImageTaskSchema,
} from "../../protocols/images/encode-image.ts";
import type { Route } from "../route.ts";
import { handleMedia, handleTask } from "./media.ts";

/** `POST /api/v1/images/generations`, and its tasks. */
export const imageRoutes: readonly Route[] = [
  {
    method: "post",
    path: "/api/v1/images/generations",
    access: "key",
    summary: "Make images: at once, or with `async` as a task to be polled",
    tag: "images",
    body: bodySchemaOf(IMAGE_TABLE),
    answers: {
      200: { description: "The images, with their cost in `credit`", schema: ImageResultSchema },
      202: { description: "With `async`: the task, which is pending", schema: ImageTaskSchema },
    },
    errors: [400, 402, 429, 502, 503, 504],
    handle: (context) => handleMedia(context, "image", generateImage),
  },
  {
    method: "get",
    path: "/api/v1/images/generations/:id",
    access: "key",
    summary: "An image task, to be polled every 2 to 5 seconds",
    tag: "images",
    answers: { 200: { description: "The task as it stands", schema: ImageTaskSchema } },
    errors: [404, 503],
    handle: (context) => handleTask(context, "image", readImageTask),
  },
  {
    method: "post",
    path: "/api/v1/images/generations/:id/cancel",
    access: "key",
    summary: "Cancel an image task while it is pending",
    tag: "images",
    answers: { 200: { description: "It is cancelled, now or before", schema: CancelledImageSchema } },
    errors: [404, 409],
    handle: (context) => handleTask(context, "image", cancelImageTask),
  },
];
