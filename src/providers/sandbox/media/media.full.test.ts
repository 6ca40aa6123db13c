import { afterAll, describe, expect, test } from "bun:test";
import { loadModelFiles } from "../../../catalog/catalog.ts";
import { GatewayError } from "../../../core/errors.ts";
import { imageSizeOf } from "../../../core/media/image-size.ts";
import type { ImageRequest, PixelSize, VideoRequest } from "../../../core/media/media.ts";
import type { MediaRequest } from "../../../core/media/media.ts";
import type { Category, Model } from "../../../core/model.ts";
import { NO_USAGE } from "../../../core/money/usage.ts";
import { createFakeClock } from "../../../../test/gateway/fake-clock.ts";
import { LONG } from "../../../../test/runs.ts";
import type { MediaAdapter, MediaCall, MediaDone, MediaStep } from "../../media.ts";
import { createSandboxMedia } from "./media.ts";
import { openStudio } from "./studio.ts";

const MODELS = loadModelFiles(new URL("../../../../models", import.meta.url).pathname);
const modelOf = (id: string, category: Category): Model | undefined =>
  MODELS.find((model) => model.id === id && model.category === category);

const clock = createFakeClock();
const provider = createSandboxMedia({ clock, studio: openStudio(clock), modelOf });
const { image, video } = provider.adapters;
// The studio keeps its thread for a while after its last order.
afterAll(() => clock.advance(60_000));

const QWEN = "alibaba/qwen-image-2.0";
const GEMINI = "google/gemini-3-pro-image";
const GPT = "openai/gpt-image-2";
const EDIT = "openai/gpt-image-2/edit";
const MIDJOURNEY = "midjourney/midjourney";
const WAN = "alibaba/wan-2.6";
const SEEDANCE = "bytedance/seedance-2.0";

const IMAGE: ImageRequest = { kind: "image", prompt: "a red fox", n: 1, images: [] };
const SMALL: ImageRequest = { ...IMAGE, size: { width: 64, height: 48 } };
const VIDEO: VideoRequest = {
  kind: "video",
  prompt: "a red fox runs",
  durationSec: 5,
  resolution: "480p",
  aspectRatio: "16:9",
  referenceImages: [],
  referenceVideos: [],
  referenceAudios: [],
};

interface Asking {
  readonly model?: string;
  readonly orders?: string;
  readonly reference?: string;
  readonly signal?: AbortSignal;
}

function callOf({ model = QWEN, orders, reference = "img_1.1", signal }: Asking = {}): MediaCall {
  return {
    upstreamId: model,
    model,
    reference,
    clientHeaders: orders === undefined ? {} : { "x-sandbox": orders },
    send: () => Promise.reject(new Error("the sandbox calls nobody")),
    load: () => Promise.reject(new Error("the sandbox loads nothing")),
    noteBegun: () => {},
    signal: signal ?? new AbortController().signal,
  };
}

/** Creates, and asks until something else than `working` is answered, as often as it wants to be asked. */
async function run<Request extends MediaRequest>(
  adapter: MediaAdapter<Request> | undefined,
  request: Request,
  asking: Asking = {},
): Promise<MediaStep> {
  const call = callOf(asking);
  let step = await adapter!.create(request, call);
  while (step.state === "working") {
    await clock.advance(step.pollAfterMs ?? 0);
    step = await adapter!.poll!(step.job, request, call);
  }
  return step;
}

async function made<Request extends MediaRequest>(
  adapter: MediaAdapter<Request> | undefined,
  request: Request,
  asking: Asking = {},
): Promise<{ readonly files: readonly Uint8Array[]; readonly usage: MediaDone["usage"] }> {
  const step = await run(adapter, request, { ...asking, orders: asking.orders ?? "running_ms=0" });
  if (step.state !== "done") throw new Error(`it is ${JSON.stringify(step)}`);
  const files = step.outputs.map((output) => ("bytes" in output ? output.bytes : new Uint8Array()));
  return { files, usage: step.usage };
}

const sizeOf = (bytes: Uint8Array): PixelSize | undefined =>
  imageSizeOf(`data:image/png;base64,${bytes.toBase64()}`);

function formatOf(bytes: Uint8Array): string {
  const head = bytes.subarray(0, 12).toHex();
  if (head.startsWith("89504e470d0a1a0a")) return "png";
  if (head.startsWith("ffd8ff")) return "jpeg";
  return /^52494646.{8}57454250$/.test(head) ? "webp" : head;
}

/** Of the large ones a few stand for all, unless there is time. */
const LARGE: readonly string[] = LONG
  ? ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]
  : ["21:9"];

describe("images are exactly as large as the model's are", () => {
  const sizes = [
    [512, 512],
    [768, 768],
    [1024, 1024],
    [1536, 1536],
    [2048, 2048],
    [1024, 768],
    [768, 1024],
    [1536, 1024],
    [1024, 1536],
  ] as const;
  for (const [width, height] of sizes)
    test(`${width} by ${height} where pixels are asked for`, async () => {
      const { files } = await made(image, { ...IMAGE, size: { width, height } });
      expect(files.map((file) => [formatOf(file), sizeOf(file)])).toEqual([["png", { width, height }]]);
    });

  const gemini = {
    "1:1": [1024, 1024],
    "2:3": [848, 1264],
    "3:2": [1264, 848],
    "3:4": [896, 1200],
    "4:3": [1200, 896],
    "4:5": [928, 1152],
    "5:4": [1152, 928],
    "9:16": [768, 1376],
    "16:9": [1376, 768],
    "21:9": [1584, 672],
  } as const;
  for (const [aspectRatio, [width, height]] of Object.entries(gemini))
    for (const [imageSize, times] of [
      ["1K", 1],
      ["2K", 2],
      ["4K", 4],
    ] as const) {
      if (imageSize === "4K" && !LARGE.includes(aspectRatio)) continue;
      test(`${aspectRatio} at ${imageSize} of Gemini`, async () => {
        const { files } = await made(image, { ...IMAGE, imageSize, aspectRatio }, { model: GEMINI });
        const size = { width: width * times, height: height * times };
        expect(files.map((file) => [formatOf(file), sizeOf(file)])).toEqual([["png", size]]);
      });
    }

  test("of Midjourney's shape, four of them, all different", async () => {
    const midjourney = { version: "7", chaos: 0, weird: 0, stylize: 100 } as const;
    for (const [aspectRatio, width, height] of [
      ["1:1", 1024, 1024],
      ["16:9", 1456, 816],
      ["2:3", 896, 1344],
    ] as const) {
      const { files } = await made(image, { ...IMAGE, n: 4, aspectRatio, midjourney }, { model: MIDJOURNEY });
      expect(files.map(sizeOf)).toEqual(Array.from({ length: 4 }, () => ({ width, height })));
      expect(new Set(files.map((file) => file.toBase64())).size).toBe(4);
    }
  });

  for (const outputFormat of ["png", "jpeg", "webp"] as const)
    test(`in ${outputFormat} where that is asked for`, async () => {
      for (const [width, height] of [
        [1024, 1024],
        [1024, 1536],
      ] as const) {
        const request = { ...IMAGE, size: { width, height }, outputFormat };
        const { files } = await made(image, request, { model: GPT });
        expect(files.map((file) => [formatOf(file), sizeOf(file)])).toEqual([
          [outputFormat, { width, height }],
        ]);
      }
    });
});

describe("what chance decides", () => {
  test("is decided by the seed alone, and differs from image to image", async () => {
    const request = { ...SMALL, n: 3, seed: 7 };
    const first = await made(image, request, { reference: "a" });
    expect(await made(image, request, { reference: "b" })).toEqual(first);
    expect(new Set(first.files.map((file) => file.toBase64())).size).toBe(3);
    const { files } = await made(image, { ...request, seed: 8 });
    expect(files[0]).not.toEqual(first.files[0]);
  });

  test("is another for every attempt without a seed, and stays the same for a job", async () => {
    const asked = { ...SMALL, size: { width: 200, height: 200 } };
    const { files } = await made(image, asked, { reference: "a" });
    expect((await made(image, asked, { reference: "a" })).files).toEqual(files);
    expect((await made(image, asked, { reference: "b" })).files).not.toEqual(files);
  });

  test("is not all: another prompt or another parameter is another image", async () => {
    const asked: ImageRequest = { ...IMAGE, seed: 1, size: { width: 512, height: 512 }, quality: "low" };
    const images = [asked, { ...asked, prompt: "a red box" }, { ...asked, quality: "high" }];
    const files = await Promise.all(images.map(async (one) => (await made(image, one)).files[0]!.toBase64()));
    expect(new Set(files).size).toBe(3);
  });
});

describe("a job", () => {
  test("is worked on for two seconds, or as long as is ordered", async () => {
    for (const [orders, ms] of [
      [undefined, 2_000],
      ["running_ms=0", 0],
      ["running_ms=0.7", 1],
      ["running_ms=90000", 90_000],
    ] as const) {
      const began = clock.nowMs();
      await run(image, SMALL, orders === undefined ? {} : { orders });
      expect(clock.nowMs() - began).toBe(ms);
    }
  });

  test("begins later where a delay is ordered, and not at all once its run is stopped", async () => {
    const stop = new AbortController();
    const call = callOf({ orders: "delay_ms=700", signal: stop.signal });
    let created: MediaStep | undefined;
    const creating = image!.create(SMALL, call).then((step) => (created = step));
    await clock.advance(699);
    expect(created).toBeUndefined();
    await clock.advance(1);
    expect((await creating).state).toBe("working");
    const stopped = image!.create(SMALL, call);
    stop.abort(new Error("stopped"));
    expect(stopped).rejects.toThrow("stopped");
  });

  test("is known to another process by its name, and goes on where it was", async () => {
    const call = callOf();
    const step = await image!.create(SMALL, call);
    if (step.state !== "working") throw new Error(step.state);
    const later = createFakeClock(clock.nowMs() + 1_999);
    const other = createSandboxMedia({ clock: later, studio: openStudio(later), modelOf }).adapters.image!;
    expect(await other.poll!(step.job, SMALL, call)).toEqual({ ...step, pollAfterMs: 1 });
    await later.advance(1);
    const there = await other.poll!(step.job, SMALL, call);
    await clock.advance(2_000);
    expect(there).toEqual(await image!.poll!(step.job, SMALL, call));
    expect(there.state).toBe("done");
    await later.advance(60_000);
  });

  test("whose name was lost, or is not ours, is none", async () => {
    expect(await image!.find!(callOf())).toBeUndefined();
    for (const name of ["", "x", "sandbox.1", "sandbox.x.00", "other.1.00"])
      expect(await image!.poll!(name, SMALL, callOf())).toEqual({ state: "unknown_job" });
  });

  test("that is drawn when its run is stopped rejects with the reason, and the next is drawn", async () => {
    const stop = new AbortController();
    const large = { ...IMAGE, size: { width: 2048, height: 2048 } };
    const call = callOf({ orders: "running_ms=0", signal: stop.signal });
    const step = await image!.create(large, call);
    if (step.state !== "working") throw new Error(step.state);
    const drawn = image!.poll!(step.job, large, call);
    stop.abort(new Error("stopped"));
    expect(drawn).rejects.toThrow("stopped");
    expect((await made(image, SMALL)).files).toHaveLength(1);
  });
});

describe("what is ordered", () => {
  const ends = [
    ["fail=moderation", { state: "refused", refusal: { reason: "moderation" } }],
    ["fail=failed", { state: "refused", refusal: { reason: "failed" } }],
    ["fail=overloaded", { state: "refused", refusal: { reason: "busy" } }],
    ["fail=vanish", { state: "unknown_job" }],
  ] as const;
  for (const [orders, end] of ends)
    test(`${orders} is ${JSON.stringify(end)}, of images and of videos`, async () => {
      expect(await run(image, SMALL, { orders })).toMatchObject(end);
      expect(await run(video, VIDEO, { orders })).toMatchObject(end);
    });

  test("fail=timeout is work without end", async () => {
    const call = callOf({ orders: "fail=timeout; running_ms=0" });
    const step = await image!.create(SMALL, call);
    if (step.state !== "working") throw new Error(step.state);
    await clock.advance(3_600_000);
    expect(await image!.poll!(step.job, SMALL, call)).toMatchObject({ state: "working" });
  });

  test("fail=partial is fewer images, charged by their number; of one none", async () => {
    const cases = [
      ["fail=partial", 4, 3],
      ["fail=partial; images=1", 4, 1],
      ["fail=partial; images=4", 2, 2],
      ["fail=partial; images=0", 4, 0],
      ["fail=partial", 1, 0],
    ] as const;
    for (const [orders, n, delivered] of cases) {
      const { files, usage } = await made(image, { ...SMALL, n }, { orders: `${orders}; running_ms=0` });
      expect([files.length, usage]).toEqual([delivered, { ...NO_USAGE, images: delivered }]);
    }
  });

  test("is looked at before a task is made: how long it waits, and a 429 for images", () => {
    expect(provider.minPendingMs).toBe(1_000);
    expect(provider.admit!("image", {})).toEqual({});
    expect(provider.admit!("video", { "x-sandbox": "pending_ms=5; running_ms=7" })).toEqual({ pendingMs: 5 });
    const limited = errorOf(() => provider.admit!("image", { "x-sandbox": "fail=rate_limit" }));
    expect([limited.kind, limited.retryAfterSec]).toEqual(["rate_limit_error", 1]);
  });

  const senseless = [
    ["image", "tokens=5"],
    ["image", "speed=5"],
    ["image", "fail=reset_mid_stream"],
    ["image", "images=2"],
    ["image", "fail=partial; images=5"],
    ["image", "running_ms=-1"],
    ["image", "pending_ms=3600001"],
    ["video", "fail=rate_limit"],
    ["video", "fail=partial"],
    ["video", "images=1"],
    ["video", "fail=reset_mid_stream"],
    ["video", "colour=red"],
  ] as const;
  for (const [kind, orders] of senseless)
    test(`${orders} of ${kind}s is a 400 that names the header`, async () => {
      const refusal = errorOf(() => provider.admit!(kind, { "x-sandbox": orders }));
      expect([refusal.kind, refusal.param]).toEqual(["invalid_request_error", "x-sandbox"]);
      expect(refusal.message).toContain("The header x-sandbox is not valid");
      // Whoever sends it all the same is refused by the adapter.
      const step = await (kind === "image" ? run(image, SMALL, { orders }) : run(video, VIDEO, { orders }));
      expect(step).toMatchObject({ state: "refused", refusal: { reason: "invalid_request" } });
    });
});

function errorOf(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was taken");
}

describe("usage is counted as the model's own vendor does", () => {
  const square = { width: 1024, height: 1024 };
  const input = { ...NO_USAGE, input: 3 };
  const images: readonly [string, string, Partial<ImageRequest>, object][] = [
    ["images of Qwen", QWEN, { n: 2 }, { ...NO_USAGE, images: 2 }],
    ["images of Midjourney", MIDJOURNEY, { n: 4 }, { ...NO_USAGE, images: 4 }],
    [
      "tokens of GPT by size and quality",
      GPT,
      { size: square, quality: "high" },
      { ...input, imageOutput: 7_024 },
    ],
    [
      "a quality that GPT may choose is medium",
      GPT,
      { size: square, quality: "auto", n: 2 },
      { ...input, imageOutput: 3_512 },
    ],
    ["tokens of Gemini", GEMINI, { imageSize: "2K" }, { ...input, imageOutput: 1_120 }],
    [
      "the prompt is read for each of Gemini's",
      GEMINI,
      { imageSize: "4K", n: 2 },
      { ...input, input: 6, imageOutput: 4_000 },
    ],
    [
      "an image that goes in, of unknown size",
      EDIT,
      { size: square, quality: "low", images: ["https://a.example/b.png"] },
      { ...input, imageInput: 258, imageOutput: 196 },
    ],
  ];
  for (const [name, model, asked, usage] of images)
    test(name, async () => {
      expect((await made(image, { ...SMALL, ...asked }, { model })).usage).toEqual(usage as typeof NO_USAGE);
    });

  const videos: readonly [string, string, Partial<VideoRequest>, object][] = [
    ["seconds of Wan", WAN, { durationSec: 10, resolution: "720p" }, { seconds: 10 }],
    [
      "and of what it was given, five at most",
      WAN,
      { referenceVideos: ["https://a.example/1", "https://a.example/2"] },
      { seconds: 10 },
    ],
    ["tokens of Seedance by its pixels", SEEDANCE, { resolution: "720p" }, { output: 108_000 }],
    ["smaller", SEEDANCE, {}, { output: 50_220 }],
    ["and of what it was given", SEEDANCE, { referenceVideos: ["https://a.example/1"] }, { output: 100_440 }],
  ];
  for (const [name, model, asked, usage] of videos)
    test(name, async () => {
      const counted = (await made(video, { ...VIDEO, ...asked }, { model })).usage;
      expect(counted).toEqual({ ...NO_USAGE, ...usage });
    });
});
