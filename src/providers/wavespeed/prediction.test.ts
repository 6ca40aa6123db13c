import { describe, expect, test } from "bun:test";
import { VIDEO, IMAGE } from "../../../test/gateway/media-run.ts";
import { type Said, scriptedCall } from "../../../test/upstream/media/scripted-call.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ImageRequest, VideoRequest } from "../../core/media/media.ts";
import type { MediaStep } from "../media.ts";
import { wavespeedImages } from "./images.ts";
import { wavespeedVideos } from "./videos.ts";

const QWEN = "wavespeed-ai/qwen-image-2.0/text-to-image";
const reasonOf = (step: MediaStep): string => (step.state === "refused" ? step.refusal.reason : step.state);
const data = (members: object): Said => ({
  json: { code: 200, message: "success", data: { id: "b0", ...members } },
});
const refused = (code: number, message = "No."): Said => ({ status: code, json: { code, message } });
const create = (
  answers: readonly (Said | Error)[],
  request: Partial<ImageRequest> = {},
): Promise<MediaStep> => wavespeedImages.create({ ...IMAGE, ...request }, scriptedCall(QWEN, answers).call);
const poll = async (job: string, ...answers: readonly Said[]): Promise<MediaStep> =>
  wavespeedImages.poll?.(job, IMAGE, scriptedCall(QWEN, answers).call) ?? { state: "unknown_job" };

describe("what is sent", () => {
  const size = { width: 1_024, height: 768 };
  const style = { version: "6.1", niji: "5", chaos: 1, weird: 2, stylize: 3, sref: "https://a/s" } as const;
  const images: readonly [string, Partial<ImageRequest>, object][] = [
    [QWEN, { size, seed: 7 }, { size: "1024*768", seed: 7 }],
    [
      "openai/gpt-image-2/edit",
      { size, quality: "low", background: "opaque", outputFormat: "png", images: ["https://a/1"] },
      { aspect_ratio: "4:3", resolution: "1k", quality: "low", images: ["https://a/1"] },
    ],
    [
      "openai/gpt-image-2/text-to-image",
      { size: { width: 2_048, height: 2_048 }, quality: "auto" },
      { aspect_ratio: "1:1", resolution: "2k", quality: "high" },
    ],
    [
      "midjourney/text-to-image",
      { n: 4, quality: "0.25", aspectRatio: "3:2", midjourney: style },
      {
        quality: 0.25,
        aspect_ratio: "3:2",
        version: "6.1",
        niji: "5",
        chaos: 1,
        weird: 2,
        stylize: 3,
        sref: "https://a/s",
      },
    ],
  ];
  for (const [model, request, members] of images)
    test(model, async () => {
      const { call, sent } = scriptedCall(model, [data({ status: "created" })]);
      expect(await wavespeedImages.create({ ...IMAGE, ...request }, call)).toEqual({
        state: "working",
        job: "b0",
      });
      expect(sent).toEqual([
        { method: "POST", path: `/${model}`, json: { prompt: IMAGE.prompt, ...members } },
      ]);
    });

  const videos: readonly [string, Partial<VideoRequest>, object][] = [
    [
      "text-to-video",
      {
        resolution: "1080p",
        aspectRatio: "9:16",
        shotType: "multi",
        expandPrompt: true,
        seed: 7,
        negativePrompt: "Rain.",
        referenceAudios: ["https://a/1"],
      },
      {
        size: "1080*1920",
        shot_type: "multi",
        enable_prompt_expansion: true,
        seed: 7,
        negative_prompt: "Rain.",
        audio: "https://a/1",
      },
    ],
    [
      "image-to-video",
      { firstFrame: "https://a/1", shotType: "single", expandPrompt: false },
      { image: "https://a/1", resolution: "720p", shot_type: "single", enable_prompt_expansion: false },
    ],
    [
      "reference-to-video",
      { referenceVideos: ["https://a/1"], expandPrompt: false },
      { size: "1280*720", videos: ["https://a/1"], enable_prompt_expansion: false },
    ],
  ];
  for (const [way, request, members] of videos)
    test(way, async () => {
      const { call, sent } = scriptedCall(`alibaba/wan-2.6/${way}`, [data({ status: "created" })]);
      await wavespeedVideos.create({ ...VIDEO, ...request }, call);
      expect(sent[0]?.json).toEqual({ prompt: VIDEO.prompt, duration: 5, ...members });
    });

  test("nothing that their model lacks: it is told before", () => {
    const midjourney = { version: "7", chaos: 0, weird: 0, stylize: 100 } as const;
    for (const more of [
      { mask: "https://a/1" },
      { outputFormat: "webp" },
      { size: { width: 1_536, height: 1_536 } },
      { midjourney, images: ["https://a/1"] },
      { midjourney, aspectRatio: "4:5" },
    ] as const)
      expect(wavespeedImages.lacks?.({ ...IMAGE, ...more }, "openai/gpt-image-2/edit")?.reason).toBe(
        "invalid_request",
      );
    expect(wavespeedImages.lacks?.(IMAGE, "openai/gpt-image-2/edit")).toBeUndefined();
    const video = { ...VIDEO, referenceImages: ["https://a/1"] };
    expect(wavespeedVideos.lacks?.(video, "alibaba/wan-2.6/text-to-video")?.reason).toBe("invalid_request");
    expect(wavespeedVideos.lacks?.(VIDEO, "alibaba/wan-2.6/text-to-video")).toBeUndefined();
  });
});

describe("a submission is", () => {
  const rows: readonly [string, Said, string][] = [
    ["moderation", refused(400, "Flagged by content policy"), "moderation"],
    ["invalid", refused(400), "invalid_request"],
    ...[401, 402, 403, 404].map((code): [string, Said, string] => [
      `the operator's: ${code}`,
      refused(code),
      "operator_fault",
    ]),
    ["the operator's, in a good answer", { json: { code: 402, message: "No." } }, "operator_fault"],
    ["moderation by its code", { status: 400, json: { code: 1_200 } }, "moderation"],
    ...[200, 400, 403, 404].flatMap((status) =>
      [1_400, 1_401, 1_402].map((code): [string, Said, string] => [
        `invalid by its code ${code}, with ${status}`,
        { status, json: { code, message: "No." } },
        "invalid_request",
      ]),
    ),
    ["busy", refused(429), "busy"],
    ["unclear: 500", refused(500), "unclear"],
    ["unclear: no name", { json: { code: 200, data: {} } }, "unclear"],
    ["unclear: a path for a name", data({ id: "../x" }), "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(name, async () => expect(reasonOf(await create([answer]))).toBe(want));
});

describe("a prediction that is", () => {
  const rows: readonly [string, Said, string][] = [
    ["created", data({ status: "created" }), "working"],
    ["processing", data({ status: "processing" }), "working"],
    ["in a state that nobody knows", data({ status: "pondering" }), "working"],
    ["failed", data({ status: "failed", error: "CUDA" }), "failed"],
    ["failed by moderation", data({ status: "failed", error: "NSFW content" }), "moderation"],
    [
      "failed by moderation, by its code",
      data({ status: "failed", code: 1_200, error: "No." }),
      "moderation",
    ],
    [
      "failed by a file, by its code",
      data({ status: "failed", code: 1_402, error: "No." }),
      "invalid_request",
    ],
    ["failed by a code of theirs", data({ status: "failed", code: 5_004, error: "No." }), "failed"],
    [
      "completed, and none may be shown",
      data({ status: "completed", outputs: ["https://f/1"], has_nsfw_contents: [true] }),
      "moderation",
    ],
    ["gone", refused(404), "unknown_job"],
    ["not told of: a refused question", refused(400), "unclear"],
    ["not told of: a limit", refused(429), "busy"],
    ["not told of: no status", { json: {} }, "unclear"],
  ];
  for (const [name, answer, want] of rows)
    test(name, async () => expect(reasonOf(await poll("b0", answer))).toBe(want));

  test("completed gives addresses, and takes anything else for base64", async () => {
    const outputs = ["https://f/1", "https://f/2", "data:image/png;base64,AAAA", "!"];
    expect(
      await poll("b0", data({ status: "completed", outputs, has_nsfw_contents: [false, true] })),
    ).toEqual({
      state: "done",
      outputs: [{ url: "https://f/1" }, { base64: "data:image/png;base64,AAAA" }, { base64: "!" }],
    });
  });
});

describe("several images are as many predictions", () => {
  const done = (place: number): Said => data({ status: "completed", outputs: [`https://f/${place}`] });

  test("with a seed each, and one name for all", async () => {
    const { call, sent } = scriptedCall(
      QWEN,
      ["b1", "b2", "b3"].map((id) => data({ id })),
    );
    const step = await wavespeedImages.create({ ...IMAGE, n: 3, seed: 2_147_483_647 }, call);
    expect(step).toEqual({ state: "working", job: "b1,b2,b3" });
    expect(sent.map(({ json }) => json)).toEqual(
      [2_147_483_647, 0, 1].map((seed) => ({ prompt: IMAGE.prompt, seed })),
    );
  });

  test("of which those that have begun are followed", async () => {
    expect(await create([refused(429), data({ id: "b2" }), new Error("It broke.")], { n: 3 })).toEqual({
      state: "working",
      job: "b2",
    });
  });

  test("and of which nothing is known when one broke and none has begun", async () => {
    const broken = new GatewayError("upstream_error", "It broke.");
    expect(await create([refused(429), broken], { n: 2 }).catch((error: unknown) => error)).toBe(broken);
    expect(reasonOf(await create([refused(429), refused(500)], { n: 2 }))).toBe("unclear");
    expect(reasonOf(await create([refused(429), refused(401)], { n: 2 }))).toBe("operator_fault");
    // One that may have begun is no reason to go to another provider, whatever the other was refused for.
    expect(reasonOf(await create([refused(401), refused(500)], { n: 2 }))).toBe("unclear");
    expect(await create([refused(401), broken], { n: 2 }).catch((error: unknown) => error)).toBe(broken);
    expect(reasonOf(await create([refused(429)], { n: 2 }))).toBe("busy");
  });

  const rows: readonly [string, readonly Said[], object][] = [
    [
      "at work while one of them is",
      [done(1), data({ status: "processing" })],
      { state: "working", job: "b1,b2" },
    ],
    [
      "asked after again where one is not told of",
      [done(1), refused(500)],
      { state: "refused", refusal: { reason: "unclear" } },
    ],
    [
      "done with those that were made",
      [done(1), data({ status: "failed", error: "CUDA" })],
      { state: "done", outputs: [{ url: "https://f/1" }] },
    ],
    [
      "done without those that are gone",
      [refused(404), done(2)],
      { state: "done", outputs: [{ url: "https://f/2" }] },
    ],
    ["gone when all are", [refused(404)], { state: "unknown_job" }],
  ];
  for (const [name, answers, want] of rows)
    test(name, async () => expect(await poll("b1,b2", ...answers)).toMatchObject(want));
});
