import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { ImageRequest, VideoRequest } from "../../src/core/media/media.ts";
import { NO_USAGE } from "../../src/core/money/usage.ts";
import { dashscope } from "../../src/providers/dashscope/index.ts";
import type { MediaAdapter, MediaCall, MediaRefusal, MediaStep } from "../../src/providers/media.ts";
import type { MediaProvider } from "../../src/providers/provider.ts";
import { VIDEO, IMAGE } from "../gateway/media-run.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import type { MediaDouble } from "../upstream/media/media-double.ts";
import { type Said, scriptedCall } from "../upstream/media/scripted-call.ts";
import { loadRecordings, recordingsAvailable } from "../upstream/recordings.ts";
import { realCall } from "./real-call.ts";

const KEY = "sk-dashscope-0123456789";
const { media } = dashscope;
if (media?.adapters.image === undefined || media.adapters.video === undefined)
  throw new Error("DashScope makes images and videos.");
const imageAdapter: MediaAdapter<ImageRequest> = media.adapters.image;
const videoAdapter: MediaAdapter<VideoRequest> = media.adapters.video;

let double: MediaDouble;
let provider: MediaProvider;
beforeAll(async () => {
  double = await startDashscopeDouble(KEY);
  provider = {
    id: "dashscope",
    baseUrl: media.baseUrl?.(double.baseUrl) ?? "",
    headers: media.headers(KEY),
    secrets: [KEY],
    adapters: media.adapters,
  };
});
afterAll(() => double.close());
beforeEach(() => double.reset());

test("its interface for media stands beside the compatible one, at every host of it", () => {
  for (const host of [
    "https://dashscope-intl.aliyuncs.com",
    "https://dashscope.aliyuncs.com",
    "https://ws-1.ap-southeast-1.maas.aliyuncs.com",
  ])
    expect(media.baseUrl?.(`${host}/compatible-mode/v1`)).toBe(`${host}/api/v1`);
  expect(media.baseUrl?.("https://proxy.example/api/v1")).toBe("https://proxy.example/api/v1");
});

/** A call that is answered so, whatever it asks. */
const answered = (said: Said): MediaCall => scriptedCall("test", [said]).call;
const image = (more: Partial<ImageRequest>): ImageRequest => ({ ...IMAGE, ...more });
const video = (more: Partial<VideoRequest>): VideoRequest => ({ ...VIDEO, ...more });
const LINK = "https://a.example/a.png";
const DATA = "data:image/png;base64,iVBORw0KGgo=";

describe("requests that a strict provider takes", () => {
  const images: readonly [name: string, request: ImageRequest, parameters: object][] = [
    ["the least", image({}), { n: 1 }],
    ["a size", image({ size: { width: 1_536, height: 1_024 } }), { n: 1, size: "1536*1024" }],
    ["a seed of nothing", image({ seed: 0 }), { n: 1, seed: 0 }],
    ["three images to start from", image({ n: 4, images: [LINK, DATA, LINK] }), { n: 4 }],
  ];
  for (const [name, request, parameters] of images)
    test(`for images: ${name}`, async () => {
      const step = await imageAdapter.create(request, realCall(provider, "qwen-image-2.0"));
      expect(step.state).toBe("done");
      expect(double.accepted.map((work) => work.parameters)).toEqual([
        { ...parameters, prompt_extend: false, watermark: false },
      ]);
    });

  const videos: readonly [
    name: string,
    id: string,
    request: VideoRequest,
    input: object,
    parameters: object,
  ][] = [
    [
      "from text",
      "wan2.6-t2v",
      video({ shotType: "single", expandPrompt: false, seed: 7 }),
      {},
      { size: "1280*720", duration: 5, shot_type: "single", prompt_extend: false, seed: 7 },
    ],
    [
      "upright and large",
      "wan2.6-t2v",
      video({ resolution: "1080p", aspectRatio: "9:16", durationSec: 15 }),
      {},
      { size: "1080*1920", duration: 15, prompt_extend: false },
    ],
    [
      "of several shots, for which the prompt is expanded",
      "wan2.6-t2v",
      video({ shotType: "multi", expandPrompt: false }),
      {},
      { size: "1280*720", duration: 5, shot_type: "multi", prompt_extend: true },
    ],
    [
      "with audio and things to avoid",
      "wan2.6-t2v",
      video({ negativePrompt: "Rain.", referenceAudios: ["https://a.example/a.mp3"] }),
      { negative_prompt: "Rain.", audio_url: "https://a.example/a.mp3" },
      { size: "1280*720", duration: 5, prompt_extend: false },
    ],
    [
      "from a first frame, whose ratio it has",
      "wan2.6-i2v",
      video({ firstFrame: DATA, resolution: "1080p", expandPrompt: true }),
      { img_url: DATA },
      { resolution: "1080P", duration: 5, prompt_extend: true },
    ],
    [
      "with references",
      "wan2.6-r2v",
      video({
        durationSec: 10,
        shotType: "multi",
        referenceImages: [LINK, LINK],
        referenceVideos: ["https://a.example/b.mp4"],
      }),
      { reference_urls: [LINK, LINK, "https://a.example/b.mp4"] },
      { size: "1280*720", duration: 10, shot_type: "multi" },
    ],
  ];
  for (const [name, id, request, input, parameters] of videos)
    test(`for a video: ${name}`, async () => {
      const step = await videoAdapter.create(request, realCall(provider, id));
      expect(step).toEqual({ state: "working", job: double.accepted[0]?.job ?? "" });
      const [work] = double.accepted;
      expect(work?.input).toEqual({ prompt: VIDEO.prompt, ...input });
      expect(work?.parameters).toEqual({ ...parameters, watermark: false });
    });

  test("a video is asked after, and given up", async () => {
    const call = realCall(provider, "wan2.6-t2v");
    double.script({ queuedPolls: 2 });
    const step = await videoAdapter.create(VIDEO, call);
    const job = step.state === "working" ? step.job : "";
    expect(await videoAdapter.poll?.(job, VIDEO, call)).toEqual({ state: "working", job });
    await videoAdapter.cancel?.(job, call);
    expect((await videoAdapter.poll?.(job, VIDEO, call))?.state).toBe("refused");
    expect(await videoAdapter.poll?.("no-such-job", VIDEO, call)).toEqual({ state: "unknown_job" });
    // That it cannot be given up any more changes nothing.
    await videoAdapter.cancel?.("no-such-job", call);
  });
});

describe("refusals", () => {
  const rows: readonly [status: number, code: string, message: string, want: MediaRefusal["reason"]][] = [
    [400, "DataInspectionFailed", "Output data may contain inappropriate content.", "moderation"],
    [400, "data_inspection_failed", "", "moderation"],
    [400, "IPInfringementSuspect", "", "moderation"],
    [400, "InvalidParameter", "size is wrong", "invalid_request"],
    [400, "InvalidParameter.NotSupportEnableThinking", "", "invalid_request"],
    [400, "InvalidURL", "The url is invalid.", "invalid_request"],
    [400, "InvalidURL.Timeout", "Download the media resource timed out.", "invalid_request"],
    [400, "BadRequest.InputDownloadFailed", "Failed to download.", "invalid_request"],
    // Not of moderation: the file could not be fetched to be inspected.
    [400, "InvalidParameter.DataInspection", "Unable to download the media resource.", "invalid_request"],
    [400, "BadRequest.TooLarge", "Payload Too Large", "input_too_large"],
    [413, "RequestEntityTooLarge", "", "input_too_large"],
    [400, "InvalidParameter", "The image size exceeds 10 MB.", "input_too_large"],
    [401, "InvalidApiKey", "Invalid API-key provided.", "operator_fault"],
    [403, "AccessDenied", "current user api does not support synchronous calls.", "operator_fault"],
    [403, "Model.AccessDenied", "", "operator_fault"],
    [403, "AllocationQuota.FreeTierOnly", "", "operator_fault"],
    [400, "Arrearage", "Access denied, please make sure your account is in good standing.", "operator_fault"],
    [404, "ModelNotFound", "Model can not be found.", "operator_fault"],
    [429, "PrepaidBillOverdue", "The prepaid bill is overdue.", "operator_fault"],
    [429, "PostpaidBillOverdue", "The postpaid bill is overdue.", "operator_fault"],
    [429, "CommodityNotPurchased", "Commodity has not purchased yet.", "operator_fault"],
    [429, "Throttling", "Requests throttling triggered.", "busy"],
    [429, "Throttling.RateQuota", "", "busy"],
    [429, "Throttling.AllocationQuota", "", "busy"],
    [429, "Throttling.BurstRate", "", "busy"],
    [503, "ServiceUnavailable", "", "busy"],
    [500, "InternalError", "An internal error has occurred.", "unclear"],
    [500, "InternalError.Timeout", "", "unclear"],
    [418, "Novel", "", "unclear"],
    [400, "Novel", "", "invalid_request"],
  ];
  for (const [status, code, message, want] of rows)
    test(`${status} ${code} ${message.slice(0, 30)}`, async () => {
      const call = answered({
        status,
        json: { code, message, request_id: "r" },
        headers: { "retry-after": "3" },
      });
      expect(await imageAdapter.create(IMAGE, call)).toEqual({
        state: "refused",
        refusal: { reason: want, message, code, status, retryAfterMs: 3_000 },
      });
    });

  test("that are no JSON are told by their status", async () => {
    for (const [status, want] of [
      [400, "invalid_request"],
      [403, "operator_fault"],
      [429, "busy"],
      [451, "moderation"],
      [502, "unclear"],
      [302, "operator_fault"],
      [200, "unclear"],
    ] as const) {
      const call = answered({ status, text: "<html>" });
      const step = await videoAdapter.create(VIDEO, call);
      expect(step.state === "refused" ? step.refusal.reason : step.state).toBe(want);
    }
  });

  test("in a good answer are told by their code", async () => {
    const body = { code: "DataInspectionFailed", message: "Blocked." };
    const step = await imageAdapter.create(IMAGE, answered({ json: body }));
    expect(step).toMatchObject({ state: "refused", refusal: { reason: "moderation", message: "Blocked." } });
  });

  for (const [code, want] of [
    ["DataInspectionFailed", "moderation"],
    ["InvalidURL", "invalid_request"],
    ["InternalError", "failed"],
    ["Throttling", "failed"],
    ["", "failed"],
  ] as const) {
    test(`of a video that has failed: ${code}`, async () => {
      const body = { output: { task_id: "j", task_status: "FAILED", code, message: "m" } };
      const step = await videoAdapter.poll?.("j", VIDEO, answered({ json: body }));
      expect(step).toEqual({ state: "refused", refusal: { reason: want, message: "m", code } });
    });
  }

  for (const [status, want] of [
    [400, "unclear"],
    [401, "operator_fault"],
    [403, "operator_fault"],
    [404, "unknown_job"],
    [413, "unclear"],
    [429, "busy"],
    [500, "unclear"],
  ] as const) {
    test(`of a question after a video say nothing of the video: ${status}`, async () => {
      const step = await videoAdapter.poll?.("j", VIDEO, answered({ status, text: "" }));
      expect(step?.state === "refused" ? step.refusal.reason : step?.state).toBe(want);
    });
  }

  test("a name that could lead elsewhere is none", async () => {
    for (const task_id of ["../../x", "a/b", "", "a?b", 7, "x".repeat(200)]) {
      const call = answered({ json: { output: { task_id } } });
      expect((await videoAdapter.create(VIDEO, call)).state).toBe("refused");
    }
  });
});

const none = recordingsAvailable() ? undefined : "there are no recordings on this machine";
if (none !== undefined) console.log(`DashScope's recordings are not replayed: ${none}`);

describe.if(none === undefined)("recorded answers", () => {
  const want: Readonly<Record<string, MediaStep>> = {
    "qwen-image-max--x--f7e8750e": {
      state: "done",
      outputs: [
        { url: expect.stringMatching(/^https:\/\/dashscope-7c2c\.oss-cn-shanghai\.aliyuncs\.com\//) },
      ],
      usage: { ...NO_USAGE, images: 1 },
    },
    "qwen-mt-image--x--d77ece11": { state: "working", job: "ca8254b2-5269-48ef-9186-860a8341132d" },
    "wanx-style-repaint-v1--x--98341210": { state: "working", job: "c4f94e00-5899-431b-9579-eb1ebe686379" },
    "wanx-v1--x--340f1895": { state: "working", job: "9e2b6ef6-285d-4efa-8651-4dbda7d571fa" },
    // Done, and of another kind than a video: nothing of it can be used.
    "x--x--2f6443bb": { state: "done", outputs: [] },
    "x--x--50be1c67": { state: "done", outputs: [] },
    "x--x--52e26ee3": { state: "working", job: "j" },
    "x--x--b04ca233": { state: "unknown_job" },
    "qwen-max--400--1aed0dfd": {
      state: "refused",
      refusal: {
        reason: "invalid_request",
        code: "InvalidParameter",
        status: 400,
        message: "Role must be user or assistant and Content length must be greater than 0",
      },
    },
    "qwen-max--401--6ca73b23": {
      state: "refused",
      refusal: {
        reason: "operator_fault",
        code: "InvalidApiKey",
        status: 401,
        message: "Invalid API-key provided.",
      },
    },
  };
  const recordings =
    none === undefined ? [...loadRecordings("images/dashscope"), ...loadRecordings("errors/dashscope")] : [];

  for (const { name, request, response } of recordings) {
    const wanted = want[name];
    // The list of tasks is not asked for, and what a cancel answers is not read.
    if (wanted === undefined) continue;
    test(name, async () => {
      const { status } = response;
      const call = answered({ status, json: response.body });
      const isQuestion = request.method === "GET";
      const isWaiting = request.url.endsWith("/multimodal-generation/generation");
      const step = await (isQuestion
        ? videoAdapter.poll?.("j", VIDEO, call)
        : isWaiting
          ? imageAdapter.create(IMAGE, call)
          : videoAdapter.create(VIDEO, call));
      expect(step).toEqual(wanted);
    });
  }

  test("are all there", () => {
    const names = new Set(recordings.map(({ name }) => name));
    expect(Object.keys(want).filter((name) => !names.has(name))).toEqual([]);
  });

  test("a request for an image has the form of the recorded one", async () => {
    const recorded = recordings.find(({ name }) => name === "qwen-image-max--x--f7e8750e");
    const body = recorded?.request.body as {
      input: { messages: [{ content: [{ text: string }] }] };
      parameters: { negative_prompt?: string };
    };
    const { call, sent } = scriptedCall("qwen-image-max", [{ status: 500 }]);
    const prompt = body.input.messages[0].content[0].text;
    await imageAdapter.create(image({ prompt, seed: 233, size: { width: 1_664, height: 928 } }), call);
    const { negative_prompt: _, ...parameters } = body.parameters;
    expect(sent).toEqual([
      {
        method: "POST",
        path: new URL(recorded?.request.url ?? "").pathname.replace(/^\/api\/v1/, ""),
        json: { ...body, parameters: { ...parameters, prompt_extend: false } },
      },
    ]);
  });
});
