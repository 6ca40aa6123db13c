import { describe, expect, test } from "bun:test";
import type { MediaStep } from "../../src/providers/media.ts";
import { arkImages } from "../../src/providers/ark/images.ts";
import { arkVideos } from "../../src/providers/ark/videos.ts";
import { dashscopeVideos } from "../../src/providers/dashscope/videos.ts";
import { falImages } from "../../src/providers/fal/images.ts";
import { falVideos } from "../../src/providers/fal/videos.ts";
import { openaiImages } from "../../src/providers/openai/images.ts";
import { VIDEO, IMAGE } from "../gateway/media-run.ts";
import { scriptedCall } from "../upstream/media/scripted-call.ts";
import { loadRecordings, recordingsAvailable } from "../upstream/recordings.ts";

// Answers in the forms that the vendors' pages document, with values of our own. Beside them stand the examples that
// other projects give, where they are at hand. All were written by hand: they show only that we read these forms as
// their authors do; no vendor sent them.

const COMPLETED = { json: { status: "COMPLETED" } };

/** What each example is read as, by its path. */
const EXAMPLES: Readonly<Record<string, (body: unknown) => Promise<MediaStep | undefined>>> = {
  "videos/fal/queue-submit": (json) =>
    falVideos.create(VIDEO, scriptedCall("fal-ai/luma-dream-machine", [{ json }]).call),
  "videos/fal/queue-result": async (json) =>
    falVideos.poll?.("fal-ai/x/requests/1", VIDEO, scriptedCall("", [COMPLETED, { json }]).call),
  "images/fal/qwen-image": async (json) =>
    falImages.poll?.("fal-ai/x/requests/1", IMAGE, scriptedCall("", [COMPLETED, { json }]).call),
  "images/bytedance/seedream-b64": (json) => arkImages.create(IMAGE, scriptedCall("", [{ json }]).call),
  "videos/bytedance/create": (json) => arkVideos.create(VIDEO, scriptedCall("", [{ json }]).call),
  ...Object.fromEntries(
    ["queued", "running", "succeeded", "failed-sensitive", "cancelled"].map((name) => [
      `videos/bytedance/poll-${name}`,
      async (json: unknown) => arkVideos.poll?.("j", VIDEO, scriptedCall("", [{ json }]).call),
    ]),
  ),
  "videos/dashscope/wan-create-pending": (json) =>
    dashscopeVideos.create(VIDEO, scriptedCall("wan2.6-t2v", [{ json }]).call),
  ...Object.fromEntries(
    ["running", "succeeded", "failed"].map((name) => [
      `videos/dashscope/wan-poll-${name}`,
      async (json: unknown) => dashscopeVideos.poll?.("j", VIDEO, scriptedCall("", [{ json }]).call),
    ]),
  ),
  "images/openai/gpt-image-usage": (json) =>
    openaiImages.create(IMAGE, scriptedCall("gpt-image-1.5", [{ json }]).call),
};

const WANT: Readonly<Record<string, object>> = {
  "videos/fal/queue-submit": {
    state: "working",
    job: "fal-ai/luma-dream-machine/requests/test-request-id-123",
  },
  "videos/fal/queue-result": {
    state: "done",
    outputs: [{ url: "https://fal.media/files/video-output.mp4" }],
  },
  "images/fal/qwen-image": { state: "done", outputs: [{ url: "https://api.example.com/image.png" }] },
  "images/bytedance/seedream-b64": {
    state: "done",
    outputs: [{ base64: "test1234" }, { base64: "test5678" }],
  },
  "videos/bytedance/create": { state: "working", job: "test-task-id-123" },
  "videos/bytedance/poll-queued": { state: "working" },
  "videos/bytedance/poll-running": { state: "working" },
  "videos/bytedance/poll-succeeded": {
    state: "done",
    outputs: [{ url: "https://bytedance.cdn/files/video-output.mp4" }],
    usage: { output: 100 },
  },
  "videos/bytedance/poll-failed-sensitive": { state: "refused", refusal: { reason: "moderation" } },
  "videos/bytedance/poll-cancelled": { state: "refused", refusal: { reason: "failed" } },
  "videos/dashscope/wan-create-pending": { state: "working", job: "task-abc-123" },
  "videos/dashscope/wan-poll-running": { state: "working" },
  "videos/dashscope/wan-poll-succeeded": {
    state: "done",
    outputs: [{ url: "https://dashscope-result.oss.aliyuncs.com/output/video-001.mp4" }],
    usage: { seconds: 5 },
  },
  "videos/dashscope/wan-poll-failed": { state: "refused", refusal: { reason: "moderation" } },
  // Its image is an ellipsis.
  "images/openai/gpt-image-usage": {
    state: "done",
    outputs: [{ base64: "..." }],
    usage: { input: 10, imageInput: 40, output: 0, imageOutput: 50 },
  },
};

const ARK_JOB = { id: "test-task-id-123", model: "a-model" };
const WAN_JOB = { task_id: "task-abc-123" };

/** The documented form of each answer. */
const OURS: Readonly<Record<string, unknown>> = {
  "videos/fal/queue-submit": {
    request_id: "test-request-id-123",
    response_url: "https://queue.fal.run/fal-ai/luma-dream-machine/requests/test-request-id-123",
    status: "IN_QUEUE",
    queue_position: 0,
  },
  "videos/fal/queue-result": {
    video: {
      url: "https://fal.media/files/video-output.mp4",
      content_type: "video/mp4",
      file_size: 4_404_019,
    },
    seed: 7,
  },
  "images/fal/qwen-image": {
    images: [
      { url: "https://api.example.com/image.png", width: 768, height: 768, content_type: "image/png" },
    ],
    has_nsfw_concepts: [false],
  },
  "images/bytedance/seedream-b64": {
    model: "a-model",
    created: 1_800_000_000,
    data: [{ b64_json: "test1234", size: "2048x2048" }, { b64_json: "test5678" }],
    usage: { generated_images: 2, output_tokens: 32_768, total_tokens: 32_768 },
  },
  "videos/bytedance/create": { id: ARK_JOB.id },
  "videos/bytedance/poll-queued": { ...ARK_JOB, status: "queued" },
  "videos/bytedance/poll-running": { ...ARK_JOB, status: "running", updated_at: 1_800_000_001 },
  "videos/bytedance/poll-succeeded": {
    ...ARK_JOB,
    status: "succeeded",
    content: { video_url: "https://bytedance.cdn/files/video-output.mp4" },
    usage: { completion_tokens: 100, total_tokens: 100 },
    resolution: "720p",
  },
  "videos/bytedance/poll-failed-sensitive": {
    ...ARK_JOB,
    status: "failed",
    error: { code: "OutputVideoSensitiveContentDetected", message: "The video may hold sensitive content." },
  },
  "videos/bytedance/poll-cancelled": { ...ARK_JOB, status: "cancelled" },
  "videos/dashscope/wan-create-pending": {
    request_id: "r-1",
    output: { ...WAN_JOB, task_status: "PENDING" },
  },
  "videos/dashscope/wan-poll-running": { request_id: "r-2", output: { ...WAN_JOB, task_status: "RUNNING" } },
  "videos/dashscope/wan-poll-succeeded": {
    request_id: "r-3",
    output: {
      ...WAN_JOB,
      task_status: "SUCCEEDED",
      video_url: "https://dashscope-result.oss.aliyuncs.com/output/video-001.mp4",
    },
    usage: { duration: 5, output_video_duration: 5, video_count: 1, SR: 720 },
  },
  "videos/dashscope/wan-poll-failed": {
    request_id: "r-4",
    output: {
      ...WAN_JOB,
      task_status: "FAILED",
      code: "DataInspectionFailed",
      message: "The output may hold inappropriate content.",
    },
  },
  "images/openai/gpt-image-usage": {
    created: 1_800_000_000,
    data: [{ b64_json: "..." }],
    usage: {
      input_tokens: 50,
      output_tokens: 50,
      total_tokens: 100,
      input_tokens_details: { text_tokens: 10, image_tokens: 40 },
    },
  },
};

describe("documented forms are read as they are meant:", () => {
  for (const [path, read] of Object.entries(EXAMPLES))
    test(path, async () => {
      expect(await read(OURS[path])).toMatchObject(WANT[path] ?? {});
    });
});

describe.skipIf(!recordingsAvailable())("published examples are read as they are meant:", () => {
  const folders = recordingsAvailable() ? ["documented/images", "documented/videos"] : [];
  const examples = folders.flatMap((folder) => loadRecordings(folder));
  for (const [path, read] of Object.entries(EXAMPLES))
    test(path, async () => {
      const example = examples.find((one) => one.path.endsWith(`${path}.json`));
      if (example === undefined) throw new Error("There is no such example.");
      expect(await read(example.response.body)).toMatchObject(WANT[path] ?? {});
    });

  test("all that there are of our vendors", () => {
    const ours = examples
      .map(({ path }) => path.replace(/^.*documented\//, "").replace(/\.json$/, ""))
      .filter((path) => /\/(fal|bytedance|dashscope|openai)\//.test(path))
      // No stream is asked for, and those videos are made no more.
      .filter((path) => !/stream|sora/.test(path));
    expect(ours.sort()).toEqual(Object.keys(EXAMPLES).sort());
  });
});
