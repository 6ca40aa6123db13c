import { describe, expect, test } from "bun:test";
import { VIDEO, IMAGE } from "../../../test/gateway/media-run.ts";
import { type Said, scriptedCall } from "../../../test/upstream/media/scripted-call.ts";
import type { ImageRequest, VideoRequest } from "../../core/media/media.ts";
import type { MediaStep } from "../media.ts";
import { falImages } from "./images.ts";
import { falVideos } from "./videos.ts";

const JOB = "openai/gpt-image-2/requests/764c";
const URL_OF = `https://queue.fal.run/${JOB}`;
const STATUS_URL = `${URL_OF}/status`;
const reasonOf = (step: MediaStep): string => (step.state === "refused" ? step.refusal.reason : step.state);
const create = (answer: Said): Promise<MediaStep> =>
  falImages.create(IMAGE, scriptedCall("openai/gpt-image-2", [answer]).call);
const poll = async (...answers: readonly Said[]): Promise<MediaStep> =>
  falImages.poll?.(JOB, IMAGE, scriptedCall("openai/gpt-image-2", answers).call) ?? {
    state: "unknown_job",
  };
const detail = (...types: readonly string[]): object => ({
  detail: types.map((type) => ({ loc: [], msg: type, type })),
});

describe("what is sent", () => {
  const size = { width: 1_024, height: 768 };
  const images: readonly [string, Partial<ImageRequest>, object][] = [
    [
      "openai/gpt-image-2/edit",
      {
        n: 2,
        size,
        quality: "auto",
        background: "opaque",
        outputFormat: "webp",
        images: ["https://a/1"],
        mask: "https://a/2",
      },
      {
        num_images: 2,
        image_size: size,
        quality: "auto",
        output_format: "webp",
        image_urls: ["https://a/1"],
        mask_url: "https://a/2",
      },
    ],
    [
      "fal-ai/nano-banana-pro",
      { imageSize: "4K", aspectRatio: "4:5", seed: 0 },
      { num_images: 1, resolution: "4K", aspect_ratio: "4:5", seed: 0, output_format: "png" },
    ],
    [
      "fal-ai/qwen-image-2/text-to-image",
      { size },
      { num_images: 1, image_size: size, output_format: "png", enable_prompt_expansion: false },
    ],
  ];
  for (const [model, request, members] of images)
    test(model, async () => {
      const { call, sent } = scriptedCall(model, [{ json: { status_url: STATUS_URL } }]);
      await falImages.create({ ...IMAGE, ...request }, call);
      expect(sent).toEqual([
        { method: "POST", path: `/${model}`, json: { prompt: IMAGE.prompt, ...members } },
      ]);
    });

  const prompt = VIDEO.prompt;
  const videos: readonly [string, Partial<VideoRequest>, object][] = [
    [
      "wan/v2.6/text-to-video",
      {
        shotType: "multi",
        expandPrompt: true,
        negativePrompt: "Rain.",
        seed: 7,
        referenceAudios: ["https://a/1"],
      },
      {
        aspect_ratio: "16:9",
        negative_prompt: "Rain.",
        multi_shots: true,
        enable_prompt_expansion: true,
        seed: 7,
        audio_url: "https://a/1",
      },
    ],
    [
      "wan/v2.6/image-to-video",
      { firstFrame: "https://a/1", shotType: "single", expandPrompt: false },
      { image_url: "https://a/1", multi_shots: false, enable_prompt_expansion: false },
    ],
    [
      "wan/v2.6/reference-to-video",
      { referenceVideos: ["https://a/1"], expandPrompt: false },
      { aspect_ratio: "16:9", video_urls: ["https://a/1"], enable_prompt_expansion: false },
    ],
    ["bytedance/seedance-2.0/text-to-video", { seed: 7 }, { aspect_ratio: "16:9", generate_audio: true }],
    [
      "bytedance/seedance-2.0/image-to-video",
      { firstFrame: "https://a/1", lastFrame: "https://a/2" },
      { image_url: "https://a/1", end_image_url: "https://a/2", generate_audio: true },
    ],
    [
      "bytedance/seedance-2.0/fast/reference-to-video",
      {
        referenceImages: ["https://a/1"],
        referenceVideos: ["https://a/2"],
        referenceAudios: ["https://a/3"],
      },
      {
        aspect_ratio: "16:9",
        image_urls: ["https://a/1"],
        video_urls: ["https://a/2"],
        audio_urls: ["https://a/3"],
        generate_audio: true,
      },
    ],
  ];
  for (const [model, request, members] of videos)
    test(model, async () => {
      const { call, sent } = scriptedCall(model, [{ json: { status_url: STATUS_URL } }]);
      await falVideos.create({ ...VIDEO, ...request }, call);
      expect(sent[0]?.json).toEqual({ prompt, duration: "5", resolution: "720p", ...members });
    });

  test("nothing of Wan with images as references: it takes videos alone, and is said to before", () => {
    const request = { ...VIDEO, referenceImages: ["https://a/1"] };
    expect(falVideos.lacks?.(request, "wan/v2.6/reference-to-video")?.reason).toBe("invalid_request");
    expect(falVideos.lacks?.(VIDEO, "wan/v2.6/text-to-video")).toBeUndefined();
    expect(falVideos.lacks?.(request, "bytedance/seedance-2.0/reference-to-video")).toBeUndefined();
  });
});

describe("a submission is", () => {
  const rows: readonly [string, Said, string][] = [
    ["taken, and asked after at the address that came", { json: { status_url: STATUS_URL } }, "working"],
    ["taken, and asked after below its result", { json: { response_url: URL_OF } }, "working"],
    ["unclear without an address", { json: { request_id: "764c" } }, "unclear"],
    ["unclear with one that leads elsewhere", { json: { status_url: `${URL_OF}/../x` } }, "unclear"],
    ["moderation", { status: 422, json: detail("content_policy_violation") }, "moderation"],
    [
      "moderation beside another fault",
      { status: 422, json: detail("value_error", "content_policy_violation") },
      "moderation",
    ],
    ["too large", { status: 422, json: detail("image_too_large") }, "input_too_large"],
    ["too long", { status: 422, json: detail("video_duration_too_long") }, "input_too_large"],
    ["invalid", { status: 422, json: detail("value_error") }, "invalid_request"],
    ["invalid by a type that nobody knows", { status: 422, json: detail("novel") }, "invalid_request"],
    ["the operator's: 401", { status: 401, json: { detail: "Auth" } }, "operator_fault"],
    ["the operator's: balance", { status: 403, json: { detail: "Exhausted balance" } }, "operator_fault"],
    ["the operator's: model", { status: 404, json: { detail: "x" } }, "operator_fault"],
    ...[403, 404].map((status): [string, Said, string] => [
      `invalid: of a file, with ${status}`,
      { status, json: { detail: [{ loc: ["body", "image_url"], msg: "No.", type: "file_download_error" }] } },
      "invalid_request",
    ]),
    ["busy", { status: 429, json: { detail: "x" } }, "busy"],
    ["unclear: 500", { status: 500, json: detail("internal_server_error") }, "unclear"],
    ["unclear: 504", { status: 504, text: "" }, "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(name, async () => expect(reasonOf(await create(answer))).toBe(want));

  test("asked after by what is the same at every address of theirs", async () => {
    for (const json of [
      { response_url: URL_OF },
      { status_url: STATUS_URL },
      { status_url: `https://proxy.example/fal/${JOB}/status` },
    ])
      expect(await create({ json })).toEqual({ state: "working", job: JOB });
    expect(await create({ status: 422, json: { error: { code: "c", message: "Words." } } })).toMatchObject({
      refusal: { code: "c", message: "Words." },
    });
  });
});

describe("a request that is", () => {
  const completed: Said = { json: { status: "COMPLETED" } };
  const good: Said = {
    json: { images: [{ url: "https://f/1" }, { url: "https://f/2" }], has_nsfw_concepts: [false, true] },
  };
  const rows: readonly [string, readonly Said[], string][] = [
    ["queued", [{ status: 202, json: { status: "IN_QUEUE" } }], "working"],
    ["in progress", [{ json: { status: "IN_PROGRESS" } }], "working"],
    ["in a state that nobody knows", [{ json: { status: "PONDERING" } }], "working"],
    ["done", [completed, good], "done"],
    [
      "done, and its result early",
      [completed, { status: 400, json: { detail: "Request is still in progress" } }],
      "working",
    ],
    [
      "done, and all of it blackened",
      [completed, { json: { images: [{ url: "u" }], has_nsfw_concepts: [true] } }],
      "moderation",
    ],
    [
      "failed by moderation",
      [completed, { status: 422, json: detail("content_policy_violation") }],
      "moderation",
    ],
    [
      "failed without an image",
      [completed, { status: 422, json: detail("no_media_generated") }],
      "moderation",
    ],
    ["failed by an input", [completed, { status: 422, json: detail("image_load_error") }], "invalid_request"],
    ["failed by time", [completed, { status: 504, json: detail("generation_timeout") }], "failed"],
    ["failed by a server", [completed, { status: 500, json: { detail: "x" } }], "failed"],
    [
      "failed, as its state says",
      [
        { json: { status: "COMPLETED", error: "x", error_type: "content_policy_violation" } },
        { status: 500, text: "" },
      ],
      "moderation",
    ],
    [
      "failed for a lost server, as its result says",
      [completed, { status: 503, json: { detail: "x", error_type: "runner_disconnected" } }],
      "failed",
    ],
    [
      "failed for a lost server, as a header of its result says",
      [completed, { status: 504, text: "", headers: { "x-fal-error-type": "request_timeout" } }],
      "failed",
    ],
    [
      "failed for a reason that nobody knows, as its state says",
      [{ json: { status: "COMPLETED", error: "x", error_type: "novel" } }, { status: 503, text: "" }],
      "failed",
    ],
    ["done, and its result limited", [completed, { status: 429, json: {} }], "busy"],
    ["done, and its result behind an edge", [completed, { status: 502, text: "" }], "unclear"],
    ["done, and its result locked", [completed, { status: 401, json: {} }], "operator_fault"],
    ["done, and its result gone", [completed, { status: 404, json: {} }], "unknown_job"],
    ["done, and its result no JSON", [completed, { text: "<html>" }], "unclear"],
    ["gone", [{ status: 404, json: {} }], "unknown_job"],
    ["not told of: a refused question", [{ status: 422, json: {} }], "unclear"],
    ["not told of: a limit", [{ status: 429, json: {} }], "busy"],
    ["not told of: no status", [{ json: {} }], "unclear"],
  ];
  for (const [name, answers, want] of rows)
    test(name, async () => expect(reasonOf(await poll(...answers))).toBe(want));

  test("done gives what may be shown, from its own address", async () => {
    const { call, sent } = scriptedCall("openai/gpt-image-2", [completed, good]);
    expect(await falImages.poll?.(JOB, IMAGE, call)).toEqual({
      state: "done",
      outputs: [{ url: "https://f/1" }],
    });
    expect(sent).toEqual([
      { method: "GET", path: `/${JOB}/status` },
      { method: "GET", path: `/${JOB}` },
    ]);
    const video = scriptedCall("wan/v2.6/text-to-video", [
      completed,
      { json: { video: { url: "https://f/3" } } },
    ]);
    expect(await falVideos.poll?.(JOB, VIDEO, video.call)).toEqual({
      state: "done",
      outputs: [{ url: "https://f/3" }],
    });
  });
});

test("a request is stopped at its own address, again where their server failed", async () => {
  const { call, sent } = scriptedCall("openai/gpt-image-2", [{ status: 400 }, { status: 502 }]);
  expect(await falImages.cancel?.(JOB, call)).toBe(true);
  expect(await falImages.cancel?.(JOB, call)).toBe(false);
  expect(sent[0]).toEqual({ method: "PUT", path: `/${JOB}/cancel` });
});
