import { describe, expect, test } from "bun:test";
import { IMAGE } from "../../../test/gateway/media-run.ts";
import { type Said, scriptedCall } from "../../../test/upstream/media/scripted-call.ts";
import type { ImageRequest } from "../../core/media/media.ts";
import type { MediaStep } from "../media.ts";
import { arkImages } from "./images.ts";

const MODEL = "seedream-5-0-260128";
const { size: _size, seed: _seed, quality: _quality, ...PLAIN } = IMAGE;
const ASKED: ImageRequest = { ...PLAIN, n: 1, images: [] };

function create(request: ImageRequest, answers: readonly (Said | Error)[]) {
  const scripted = scriptedCall(MODEL, answers);
  return { step: arkImages.create(request, scripted.call), sent: scripted.sent };
}

const made = (url: string): Said => ({
  json: { data: [{ url, size: "2048x2048" }], usage: { generated_images: 1, output_tokens: 16_384 } },
});
const refused = (status: number, code: string): Said => ({
  status,
  json: { error: { code, message: "No." } },
});
const told = (step: MediaStep): unknown =>
  step.state === "refused" ? step.refusal.reason : step.state === "done" ? step.outputs : step.state;

describe("what is sent for an image of Seedream", () => {
  const always = {
    model: MODEL,
    prompt: ASKED.prompt,
    response_format: "url",
    sequential_image_generation: "disabled",
    watermark: false,
  };
  const rows: readonly [string, Partial<ImageRequest>, object][] = [
    ["text alone", {}, {}],
    ["a size in pixels", { size: { width: 2048, height: 1536 } }, { size: "2048x1536" }],
    ["a size by name", { imageSize: "4K" }, { size: "4K" }],
    ["one image to start from", { images: ["https://a/1"] }, { image: "https://a/1" }],
    ["several", { images: ["https://a/1", "https://a/2"] }, { image: ["https://a/1", "https://a/2"] }],
    ["a format", { outputFormat: "jpeg" }, { output_format: "jpeg" }],
  ];
  for (const [name, more, fields] of rows)
    test(name, async () => {
      const { step, sent } = create({ ...ASKED, ...more }, [made("https://r/1")]);
      expect(told(await step)).toEqual([{ url: "https://r/1" }]);
      expect(sent).toEqual([{ method: "POST", path: "/images/generations", json: { ...always, ...fields } }]);
    });
});

describe("what came of images of Seedream", () => {
  test("several are as many calls, and what was made is counted", async () => {
    const { step } = create({ ...ASKED, n: 3 }, [
      made("https://r/1"),
      refused(429, "RateLimitExceeded.EndpointRPMExceeded"),
      made("https://r/3"),
    ]);
    expect(await step).toMatchObject({
      state: "done",
      outputs: [{ url: "https://r/1" }, { url: "https://r/3" }],
      usage: { images: 2 },
    });
  });

  const rows: readonly [string, Said, string][] = [
    ["a 400 for what may not be drawn", refused(400, "OutputImageSensitiveContentDetected"), "moderation"],
    ["a 400 for a wrong value", refused(400, "InvalidParameter"), "invalid_request"],
    ["a 403 for a balance", refused(403, "AccountOverdueError"), "operator_fault"],
    ["a 429", refused(429, "ServerOverloaded"), "busy"],
    ["a 500", refused(500, "InternalServiceError"), "unclear"],
    ["a 200 without images", { json: {} }, "unclear"],
    [
      "an image that failed by itself",
      { json: { data: [{ error: { code: "OutputImageSensitiveContentDetected", message: "No." } }] } },
      "moderation",
    ],
    [
      "one that failed in their servers",
      { json: { data: [{ error: { code: "InternalServiceError" } }] } },
      "failed",
    ],
  ];
  for (const [name, answer, reason] of rows)
    test(name, async () => expect(told(await create(ASKED, [answer]).step)).toBe(reason));
});
