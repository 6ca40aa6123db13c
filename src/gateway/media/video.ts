import type { VideoBody } from "../../protocols/videos/index.ts";
import { encodeCancelledVideo, encodeVideoTask } from "../../protocols/videos/encode-video.ts";
import { admitVideo } from "./admit/admit.ts";
import { submitTask, type TaskWay } from "./submit.ts";
import {
  cancelTask,
  findTask,
  type MediaAnswer,
  type MediaInput,
  type MediaServices,
  type TaskAsked,
} from "./task.ts";

const VIDEOS: TaskWay<VideoBody> = {
  read: (reader, body, terms) => reader.readVideo(body, terms),
  admit: admitVideo,
};

/** Queues a video, and answers 202 with its task. Throws a `GatewayError` for everything else. */
export function generateVideo(services: MediaServices, input: MediaInput): Promise<MediaAnswer> {
  return submitTask(services, input, VIDEOS, async (task) => ({
    status: 202,
    body: encodeVideoTask(task, []),
    task,
  }));
}

/** Shows a task, with URLs that are signed now. Reads, and writes nothing. */
export async function readVideoTask(services: MediaServices, asked: TaskAsked): Promise<MediaAnswer> {
  const { task, headers } = await findTask(services, asked);
  const urls = (task.result?.files ?? []).map((file) => services.assets.urlOf(task.id, file));
  return { status: 200, body: encodeVideoTask(task, urls), warnings: [], headers };
}

/** Cancels a pending task. */
export async function cancelVideoTask(services: MediaServices, asked: TaskAsked): Promise<MediaAnswer> {
  await cancelTask(services, asked);
  return { status: 200, body: encodeCancelledVideo(asked.id), warnings: [], headers: {} };
}
