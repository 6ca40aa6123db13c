import { describe, expect, test } from "bun:test";
import { VIDEO } from "../../../test/gateway/media-run.ts";
import { type Said, scriptedCall } from "../../../test/upstream/media/scripted-call.ts";
import type { VideoRequest } from "../../core/media/media.ts";
import type { MediaStep } from "../media.ts";
import { arkVideos } from "./videos.ts";

const MODEL = "dreamina-seedance-2-0-260128";
const JOB = "cgt-20261121-abcde";
const reasonOf = (step: MediaStep): string => (step.state === "refused" ? step.refusal.reason : step.state);
const create = (answer: Said): Promise<MediaStep> =>
  arkVideos.create(VIDEO, scriptedCall(MODEL, [answer]).call);
const poll = async (answer: Said): Promise<MediaStep> =>
  arkVideos.poll?.(JOB, VIDEO, scriptedCall(MODEL, [answer]).call) ?? { state: "unknown_job" };
const error = (code: string): object => ({ error: { code, message: "No." } });

describe("what is sent", () => {
  const always = { model: MODEL, resolution: "720p", duration: 5, watermark: false, generate_audio: true };
  const text = { type: "text", text: VIDEO.prompt };
  const item = (type: string, role: string, url: string): object => ({ type, [type]: { url }, role });
  const { aspectRatio: _, ...unshaped } = VIDEO;
  const rows: readonly [string, VideoRequest, object][] = [
    ["text", VIDEO, { ...always, content: [text], ratio: "16:9" }],
    [
      "a seed, a length, a size",
      { ...VIDEO, seed: 0, durationSec: 15, resolution: "480p", aspectRatio: "9:16" },
      { ...always, content: [text], ratio: "9:16", seed: 0, duration: 15, resolution: "480p" },
    ],
    [
      "frames",
      { ...unshaped, firstFrame: "https://a.example/1", lastFrame: "https://a.example/2" },
      {
        ...always,
        content: [
          text,
          item("image_url", "first_frame", "https://a.example/1"),
          item("image_url", "last_frame", "https://a.example/2"),
        ],
        ratio: "adaptive",
      },
    ],
    [
      "references",
      {
        ...VIDEO,
        referenceImages: ["https://a/1"],
        referenceVideos: ["https://a/2"],
        referenceAudios: ["https://a/3"],
      },
      {
        ...always,
        content: [
          text,
          item("image_url", "reference_image", "https://a/1"),
          item("video_url", "reference_video", "https://a/2"),
          item("audio_url", "reference_audio", "https://a/3"),
        ],
        ratio: "16:9",
      },
    ],
  ];
  for (const [name, request, json] of rows)
    test(name, async () => {
      const { call, sent } = scriptedCall(MODEL, [{ json: { id: JOB } }]);
      expect(await arkVideos.create(request, call)).toMatchObject({ state: "working", job: JOB });
      expect(sent).toEqual([{ method: "POST", path: "/contents/generations/tasks", json }]);
    });
});

describe("a refusal is", () => {
  const moderation =
    "InputTextSensitiveContentDetected InputImageSensitiveContentDetected.PrivacyInformation OutputVideoSensitiveContentDetected SensitiveContentDetected.SevereViolation InputTextRiskDetection X.PolicyViolation";
  const rows: readonly [string, number, string][] = [
    ...moderation.split(" ").map((code): [string, number, string] => [code, 400, "moderation"]),
    ["MissingParameter", 400, "invalid_request"],
    ["InvalidParameter.Size", 400, "invalid_request"],
    ["InvalidImageURL.EmptyURL", 400, "invalid_request"],
    ["AuthenticationError", 401, "operator_fault"],
    ["AccountOverdueError", 403, "operator_fault"],
    ["AccessDenied.X", 403, "operator_fault"],
    ["OperationDenied.X", 403, "operator_fault"],
    ["InvalidEndpointOrModel.NotFound", 404, "operator_fault"],
    ["ModelNotOpen", 404, "operator_fault"],
    ["RateLimitExceeded.X", 429, "busy"],
    ["ModelAccountRpmRateLimitExceeded", 429, "busy"],
    ["ModelAccountTpmRateLimitExceeded", 429, "busy"],
    ["QuotaExceeded", 429, "busy"],
    ["ServerOverloaded", 429, "busy"],
    ["ModelAccountIpmRateLimitExceeded", 429, "busy"],
    ["SetLimitExceeded", 429, "operator_fault"],
    ["AccountQuotaExceeded", 429, "operator_fault"],
    ["InvalidEndpoint.ClosedEndpoint", 400, "operator_fault"],
    ["InternalServiceError", 500, "unclear"],
  ];
  for (const [code, status, want] of rows)
    test(`${code}: ${want}`, async () =>
      expect(reasonOf(await create({ status, json: error(code) }))).toBe(want));
  test("the operator's where a quota is used up, and none where too many tasks wait", async () => {
    const told = async (message: string): Promise<string> =>
      reasonOf(await create({ status: 429, json: { error: { code: "QuotaExceeded", message } } }));
    expect(await told("The request has exceeded the quota.")).toBe("busy");
    expect(await told("Your account [2] has exhausted its free trial quota for the [m] model.")).toBe(
      "operator_fault",
    );
    expect(await told("You have exceeded the weekly usage quota.")).toBe("operator_fault");
  });
  test("unclear without a name for the task, or with one that is no name", async () => {
    for (const json of [{}, { id: "" }, { id: "../x" }, { id: 7 }])
      expect(reasonOf(await create({ json }))).toBe("unclear");
  });
});

describe("a task that is", () => {
  const rows: readonly [string, Said, MediaStep | string][] = [
    ["queued", { json: { id: JOB, status: "queued" } }, "working"],
    ["running", { json: { id: JOB, status: "running" } }, "working"],
    ["in a state that nobody knows", { json: { id: JOB, status: "pondering" } }, "working"],
    [
      "succeeded",
      {
        json: {
          status: "succeeded",
          content: { video_url: "https://f/1" },
          usage: { completion_tokens: 100 },
        },
      },
      "done",
    ],
    ["cancelled", { json: { status: "cancelled" } }, "failed"],
    ["expired", { json: { status: "expired" } }, "failed"],
    [
      "failed by moderation",
      { json: { status: "failed", ...error("SensitiveContentDetected") } },
      "moderation",
    ],
    ["failed by its server", { json: { status: "failed", ...error("InternalServiceError") } }, "failed"],
    ["failed without a word", { json: { status: "failed" } }, "failed"],
    ["gone", { status: 404, json: error("ResourceNotFound") }, "unknown_job"],
    ["not told of: a limit", { status: 429, json: error("RateLimitExceeded") }, "busy"],
    ["not told of: a refused question", { status: 400, json: error("InvalidParameter") }, "unclear"],
    ["not told of: a key", { status: 401, json: error("AuthenticationError") }, "operator_fault"],
    ["not told of: no status", { json: {} }, "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(name, async () => expect(reasonOf(await poll(answer))).toBe(want as string));

  test("done tells its tokens, as a number or as text, and none that cannot be", async () => {
    const usageOf = async (completion_tokens: unknown): Promise<unknown> => {
      const step = await poll({ json: { status: "succeeded", content: {}, usage: { completion_tokens } } });
      return step.state === "done" ? step.usage?.output : step;
    };
    expect(await Promise.all([108_900, "108900", -1, "x", 1.5, null].map(usageOf))).toEqual([
      108_900,
      108_900,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

test("a task is taken out by its name, again where their server failed", async () => {
  const { call, sent } = scriptedCall(MODEL, [{ status: 409 }, { status: 500 }]);
  expect(await arkVideos.cancel?.(JOB, call)).toBe(true);
  expect(await arkVideos.cancel?.(JOB, call)).toBe(false);
  expect(sent.slice(1)).toEqual([{ method: "DELETE", path: `/contents/generations/tasks/${JOB}` }]);
});
