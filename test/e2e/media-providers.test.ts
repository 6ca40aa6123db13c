import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createFastClock } from "../gateway/fast-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { startArkDouble } from "../upstream/media/ark-double.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import { startFalDouble } from "../upstream/media/fal-double.ts";
import { startGoogleDouble } from "../upstream/media/google-double.ts";
import type { Fault, MediaDouble, Stage, WorkScript } from "../upstream/media/media-double.ts";
import { startMidjourneyDouble } from "../upstream/media/midjourney-double.ts";
import { startOpenaiDouble } from "../upstream/media/openai-double.ts";
import { startWavespeedDouble } from "../upstream/media/wavespeed-double.ts";

// Every model of pictures and films over each of its routes, chosen by the keys that are set and by nothing else, against
// doubles that are as strict as the notes about their vendors: what is sent, what is delivered, what it costs, and what
// becomes of the faults of each vendor, told in its own form.

const VENDORS = {
  dashscope: { name: "DASHSCOPE", key: "DASHSCOPE_API_KEY", start: startDashscopeDouble },
  google: { name: "GEMINI", key: "GEMINI_API_KEY", start: startGoogleDouble },
  openai: { name: "OPENAI", key: "OPENAI_API_KEY", start: startOpenaiDouble },
  midjourney: { name: "MIDJOURNEY_PROXY", key: "MIDJOURNEY_PROXY_SECRET", start: startMidjourneyDouble },
  ark: { name: "ARK", key: "ARK_API_KEY", start: startArkDouble },
  fal: { name: "FAL", key: "FAL_KEY", start: startFalDouble },
  wavespeed: { name: "WAVESPEED", key: "WAVESPEED_API_KEY", start: startWavespeedDouble },
} as const;
type Vendor = keyof typeof VENDORS;

interface Station {
  readonly double: MediaDouble;
  readonly gateway: TestGateway;
}
const stations = new Map<Vendor, Station>();

beforeAll(async () => {
  for (const vendor of Object.keys(VENDORS) as Vendor[]) {
    const { name, key, start } = VENDORS[vendor];
    const double = await start(UPSTREAM_KEY);
    const gateway = await startGateway({
      clock: createFastClock(12),
      environment: { [key]: UPSTREAM_KEY, [`${name}_BASE_URL`]: double.baseUrl },
      settings: `outbound: { allowed_hosts: ["${new URL(double.files.url).host}"] }`,
    });
    stations.set(vendor, { double, gateway });
  }
});
afterAll(async () => {
  for (const { double, gateway } of stations.values()) {
    const { json } = await gateway.admin("GET", "/audit");
    expect(json.checks.filter((check: Json) => !check.ok)).toEqual([]);
    await gateway.close();
    await double.close();
  }
});
afterEach(() => {
  for (const { double } of stations.values()) {
    // The credential goes to its own server alone.
    const named = double.files.requests.filter(({ headers }) =>
      headers.some(([, value]) => value.includes(UPSTREAM_KEY)),
    );
    expect(named).toEqual([]);
    expect(double.upstream.brokenRequests).toEqual([]);
    double.reset();
  }
});

function stationOf(vendor: Vendor): Station {
  const station = stations.get(vendor);
  if (station === undefined) throw new Error(`${vendor} was not started.`);
  return station;
}

const isFilm = (model: string): boolean => /wan|seedance/.test(model);

function ask(gateway: TestGateway, body: { readonly model: string }, isAsync = true): Promise<Response> {
  return isFilm(body.model)
    ? gateway.post("/api/v1/videos", body)
    : gateway.post("/api/v1/images/generations", { ...body, ...(isAsync ? { async: true } : {}) });
}

/** The task of a request, once it has ended. */
async function ended(gateway: TestGateway, body: { readonly model: string }): Promise<Json> {
  const response = await ask(gateway, body);
  const task = (await response.json()) as Json;
  expect([response.status, task.error?.message]).toEqual([202, undefined]);
  const until = performance.now() + 30_000;
  for (;;) {
    const read = await fetch(gateway.url + task.polling_url, {
      headers: { authorization: `Bearer ${gateway.key}` },
    });
    const json = (await read.json()) as Json;
    if (["completed", "failed", "cancelled"].includes(json.status)) return json;
    if (performance.now() > until) throw new Error(`The task is still ${json.status}.`);
    await Bun.sleep(10);
  }
}

/** `completed <files> <credit>`, or `failed <type>`. */
function told(task: Json): string {
  const { status, error } = task;
  if (status !== "completed") {
    expect(task.credit).toBeUndefined();
    return `failed ${error?.type ?? ""}`.trim();
  }
  return `completed ${urlsOf(task).length} ${task.credit}`;
}

function urlsOf(task: Json): string[] {
  return task.output === undefined ? task.data.map(({ url }: Json) => url) : task.output.urls;
}

const PICTURE = "https://a.example/b.png";
const INLINE =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

interface Row {
  readonly via: Vendor;
  readonly body: { readonly model: string; readonly [name: string]: unknown };
  /** What the vendor calls the model. */
  readonly model: string;
  readonly sent: object;
  readonly want: string;
}

const qwen = { model: "alibaba/qwen-image-2.0", prompt: "Fox.", n: 2, seed: 7, size: "1024*768" };
const gemini = { model: "google/gemini-3-pro-image", prompt: "Fox.", image_size: "2K", aspect_ratio: "16:9" };
const journey = {
  model: "midjourney/midjourney",
  prompt: "Fox.",
  aspect_ratio: "16:9",
  seed: 7,
  stylize: 250,
};
const gpt = { model: "openai/gpt-image-2", prompt: "Fox.", n: 2, quality: "medium" };
const edit = { model: "openai/gpt-image-2/edit", prompt: "Night.", image: [INLINE] };
const wan = { model: "alibaba/wan-2.6", prompt: "Waves.", seed: 7, negative_prompt: "Rain." };
const seedance = { model: "bytedance/seedance-2.0", prompt: "Waves.", seed: 7, aspect_ratio: "9:16" };
const fast = { model: "bytedance/seedance-2.0-fast", prompt: "Waves.", frame_images: [PICTURE, INLINE] };

const SIZE = { width: 1_024, height: 1_024 };
const WAN_FAL = { prompt: "Waves.", negative_prompt: "Rain.", resolution: "720p", duration: "5" };
const ROUTES: readonly Row[] = [
  {
    via: "dashscope",
    body: qwen,
    model: "qwen-image-2.0",
    sent: { messages: [{ role: "user", content: [{ text: "Fox." }] }] },
    want: "completed 2 700",
  },
  {
    via: "fal",
    body: qwen,
    model: "fal-ai/qwen-image-2/text-to-image",
    sent: {
      prompt: "Fox.",
      num_images: 2,
      image_size: { width: 1_024, height: 768 },
      seed: 7,
      output_format: "png",
      enable_prompt_expansion: false,
    },
    want: "completed 2 700",
  },
  {
    via: "fal",
    body: { ...qwen, image: [INLINE] },
    model: "fal-ai/qwen-image-2/edit",
    sent: {
      prompt: "Fox.",
      num_images: 2,
      image_size: { width: 1_024, height: 768 },
      seed: 7,
      output_format: "png",
      image_urls: [INLINE],
      enable_prompt_expansion: false,
    },
    want: "completed 2 700",
  },
  {
    via: "wavespeed",
    body: qwen,
    model: "wavespeed-ai/qwen-image-2.0/text-to-image",
    sent: { prompt: "Fox.", size: "1024*768", seed: 7 },
    want: "completed 2 700",
  },
  {
    via: "google",
    body: { ...gemini, seed: 7 },
    model: "gemini-3-pro-image",
    sent: {
      contents: [{ role: "user", parts: [{ text: "Fox." }] }],
      generationConfig: {
        responseModalities: ["IMAGE"],
        imageConfig: { imageSize: "2K", aspectRatio: "16:9" },
        seed: 7,
      },
    },
    want: "completed 1 1371",
  },
  {
    via: "fal",
    body: gemini,
    model: "fal-ai/nano-banana-pro",
    sent: { prompt: "Fox.", num_images: 1, resolution: "2K", aspect_ratio: "16:9", output_format: "png" },
    // Counted by us: 1,120 tokens of picture, and one of text.
    want: "completed 1 1344.02",
  },
  {
    via: "midjourney",
    body: journey,
    model: "MID_JOURNEY",
    sent: { botType: "MID_JOURNEY", prompt: "Fox. --ar 16:9 --v 7 --s 250 --q 1 --seed 7" },
    want: "completed 4 1000",
  },
  {
    via: "wavespeed",
    body: journey,
    model: "midjourney/text-to-image",
    sent: {
      prompt: "Fox.",
      aspect_ratio: "16:9",
      seed: 7,
      quality: 1,
      version: "7",
      niji: "close",
      chaos: 0,
      weird: 0,
      stylize: 250,
    },
    want: "completed 4 1000",
  },
  {
    via: "openai",
    body: gpt,
    model: "gpt-image-2",
    sent: {
      model: "gpt-image-2",
      prompt: "Fox.",
      n: 2,
      size: "1024x1024",
      quality: "medium",
      background: "auto",
      output_format: "png",
    },
    want: "completed 2 1054.2",
  },
  {
    via: "fal",
    body: gpt,
    model: "openai/gpt-image-2",
    sent: { prompt: "Fox.", num_images: 2, image_size: SIZE, quality: "medium", output_format: "png" },
    want: "completed 2 ",
  },
  {
    via: "wavespeed",
    body: gpt,
    model: "openai/gpt-image-2/text-to-image",
    sent: { prompt: "Fox.", size: "1024*1024", quality: "medium" },
    want: "completed 2 ",
  },
  {
    via: "openai",
    body: { ...edit, mask: INLINE },
    model: "gpt-image-2",
    sent: {
      model: "gpt-image-2",
      prompt: "Night.",
      n: 1,
      size: "1024x1024",
      quality: "auto",
      background: "auto",
      output_format: "png",
      images: [{ image_url: INLINE }],
      mask: { image_url: INLINE },
    },
    want: "completed 1 527.4",
  },
  {
    via: "fal",
    body: { ...edit, mask: INLINE },
    model: "openai/gpt-image-2/edit",
    sent: {
      prompt: "Night.",
      num_images: 1,
      image_size: SIZE,
      quality: "auto",
      output_format: "png",
      image_urls: [INLINE],
      mask_url: INLINE,
    },
    want: "completed 1 ",
  },
  {
    via: "wavespeed",
    body: edit,
    model: "openai/gpt-image-2/edit",
    sent: { prompt: "Night.", size: "1024*1024", quality: "auto", images: [INLINE] },
    want: "completed 1 ",
  },
  {
    via: "dashscope",
    body: wan,
    model: "wan2.6-t2v",
    sent: { prompt: "Waves.", negative_prompt: "Rain." },
    want: "completed 1 5000",
  },
  {
    via: "fal",
    body: wan,
    model: "wan/v2.6/text-to-video",
    sent: { ...WAN_FAL, aspect_ratio: "16:9", multi_shots: false, enable_prompt_expansion: false, seed: 7 },
    want: "completed 1 5000",
  },
  {
    via: "fal",
    body: { ...wan, frame_images: [PICTURE], duration: "10", resolution: "1080p" },
    model: "wan/v2.6/image-to-video",
    sent: {
      ...WAN_FAL,
      resolution: "1080p",
      duration: "10",
      image_url: PICTURE,
      multi_shots: false,
      enable_prompt_expansion: false,
      seed: 7,
    },
    want: "completed 1 15000",
  },
  {
    via: "wavespeed",
    body: { ...wan, shot_type: "multi" },
    model: "alibaba/wan-2.6/text-to-video",
    sent: {
      prompt: "Waves.",
      negative_prompt: "Rain.",
      duration: 5,
      size: "1280*720",
      shot_type: "multi",
      enable_prompt_expansion: true,
      seed: 7,
    },
    want: "completed 1 5000",
  },
  {
    via: "ark",
    body: seedance,
    model: "dreamina-seedance-2-0-260128",
    sent: {
      model: "dreamina-seedance-2-0-260128",
      content: [{ type: "text", text: "Waves." }],
      ratio: "9:16",
      resolution: "720p",
      duration: 5,
      seed: 7,
      watermark: false,
      generate_audio: true,
    },
    want: "completed 1 7623",
  },
  {
    via: "fal",
    body: seedance,
    model: "bytedance/seedance-2.0/text-to-video",
    sent: { prompt: "Waves.", duration: "5", resolution: "720p", aspect_ratio: "9:16", generate_audio: true },
    want: "completed 1 7560",
  },
  {
    via: "ark",
    body: fast,
    model: "dreamina-seedance-2-0-fast-260128",
    sent: {
      model: "dreamina-seedance-2-0-fast-260128",
      content: [
        { type: "text", text: "Waves." },
        { type: "image_url", image_url: { url: PICTURE }, role: "first_frame" },
        { type: "image_url", image_url: { url: INLINE }, role: "last_frame" },
      ],
      ratio: "adaptive",
      resolution: "720p",
      duration: 5,
      watermark: false,
      generate_audio: true,
    },
    want: "completed 1 6098.4",
  },
  {
    via: "fal",
    body: fast,
    model: "bytedance/seedance-2.0/fast/image-to-video",
    sent: {
      prompt: "Waves.",
      duration: "5",
      resolution: "720p",
      image_url: PICTURE,
      end_image_url: INLINE,
      generate_audio: true,
    },
    want: "completed 1 6048",
  },
];

describe("by its key alone", () => {
  for (const { via, body, model, sent, want } of ROUTES)
    test(`${via} makes ${body.model} as ${model}`, async () => {
      const { double, gateway } = stationOf(via);
      const before = (await gateway.account()).balance;
      const task = await ended(gateway, body);
      const first = double.accepted[0];
      expect(first?.model).toBe(model);
      const { state, ...input } = first?.input ?? {};
      expect(input).toEqual({ ...sent });
      expect(state === undefined || state === `${task.id}.1`).toBe(true);
      expect(told(task)).toStartWith(want);
      await gateway.settled();
      expect(before - (await gateway.account()).balance).toBeCloseTo(task.credit, 6);
      for (const url of urlsOf(task)) {
        const file = await fetch(url);
        expect(file.headers.get("content-type")).toBe(isFilm(body.model) ? "video/mp4" : "image/png");
        expect(file.status).toBe(200);
      }
      expect(new Set(urlsOf(task)).size).toBe(urlsOf(task).length);
    });
});

interface FaultRow {
  readonly via: Vendor;
  readonly name: string;
  readonly body: { readonly model: string; readonly [name: string]: unknown };
  readonly stage?: Stage;
  readonly faults?: readonly (Fault | undefined)[];
  readonly scripts?: readonly WorkScript[];
  readonly want: string;
  /** The status of the same request when its client waits for it. */
  readonly status?: number;
  readonly alarm?: true;
}

const instead = (status: number, body: unknown): Fault => ({ instead: jsonAnswer(status, body) });
const after = (change: (answer: Answer) => Answer): Fault => ({ after: change });
const rewritten = (from: RegExp, to: string): Fault =>
  after((answer) => ({ ...answer, body: String(answer.body).replace(from, to) }));
const again = (fault: Fault, times: number): readonly Fault[] => Array.from({ length: times }, () => fault);

const openaiError = (status: number, code: string, message = "No."): Fault =>
  instead(status, { error: { message, type: "x", param: null, code } });
const googleError = (code: number, status: string, reason = ""): Fault =>
  instead(code, { error: { code, message: "No.", status, details: [{ reason }] } });
const arkError = (status: number, code: string): Fault =>
  instead(status, { error: { code, message: "No." } });
const proxyCode = (code: number): Fault => instead(200, { code, description: "No." });
const falError = (type: string): Fault => instead(422, { detail: [{ loc: [], msg: "No.", type }] });
const waveError = (code: number, message = "No."): Fault => instead(code, { code, message });

const oneGpt = { ...gpt, n: 1 };
const oneQwen = { ...qwen, n: 1 };
const MODERATED = "failed content_moderation";
const FAILED = "failed generation_error";

const FAULTS: readonly FaultRow[] = [
  // Refused by moderation, in the form of each vendor.
  {
    via: "openai",
    name: "moderation",
    body: oneGpt,
    faults: [openaiError(400, "moderation_blocked")],
    want: MODERATED,
    status: 400,
  },
  {
    via: "google",
    name: "a blocked prompt",
    body: gemini,
    scripts: [{ fails: { code: "PROMPT_SAFETY", message: "" } }],
    want: MODERATED,
    status: 400,
  },
  {
    via: "google",
    name: "a blocked picture",
    body: gemini,
    scripts: [{ fails: { code: "IMAGE_SAFETY", message: "" } }],
    want: MODERATED,
    status: 400,
  },
  {
    via: "google",
    name: "no picture",
    body: gemini,
    scripts: [{ fails: { code: "NO_IMAGE", message: "" } }],
    want: FAILED,
    status: 502,
  },
  {
    via: "midjourney",
    name: "a banned word",
    body: journey,
    faults: [proxyCode(24)],
    want: MODERATED,
    status: 400,
  },
  {
    via: "midjourney",
    name: "moderation at work",
    body: journey,
    scripts: [{ fails: { code: "", message: "Banned prompt detected" } }],
    want: MODERATED,
    status: 400,
  },
  {
    via: "ark",
    name: "moderation",
    body: seedance,
    faults: [arkError(400, "InputTextSensitiveContentDetected")],
    want: MODERATED,
  },
  {
    via: "ark",
    name: "moderation at work",
    body: seedance,
    scripts: [{ fails: { code: "OutputVideoSensitiveContentDetected.PolicyViolation", message: "No." } }],
    want: MODERATED,
  },
  {
    via: "ark",
    name: "failure",
    body: seedance,
    scripts: [{ fails: { code: "InternalServiceError", message: "No." } }],
    want: FAILED,
  },
  {
    via: "fal",
    name: "moderation",
    body: oneQwen,
    faults: [falError("content_policy_violation")],
    want: MODERATED,
    status: 400,
  },
  {
    via: "fal",
    name: "moderation at work",
    body: wan,
    scripts: [{ fails: { code: "content_policy_violation", message: "No." } }],
    want: MODERATED,
  },
  {
    via: "fal",
    name: "failure",
    body: oneQwen,
    scripts: [{ fails: { code: "downstream_service_error", message: "No." } }],
    want: FAILED,
    status: 502,
  },
  {
    via: "fal",
    name: "an input that cannot be loaded",
    body: oneQwen,
    scripts: [{ fails: { code: "image_load_error", message: "No." } }],
    want: "failed invalid_request_error",
    status: 400,
  },
  {
    via: "wavespeed",
    name: "moderation",
    body: oneQwen,
    faults: [waveError(400, "Content policy violation")],
    want: MODERATED,
    status: 400,
  },
  {
    via: "wavespeed",
    name: "moderation at work",
    body: wan,
    scripts: [{ fails: { code: "", message: "Flagged by safety checker: NSFW" } }],
    want: MODERATED,
  },
  // Faults of the operator.
  {
    via: "openai",
    name: "a wrong key",
    body: oneGpt,
    faults: [openaiError(401, "invalid_api_key")],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  {
    via: "openai",
    name: "no quota",
    body: oneGpt,
    faults: [openaiError(429, "insufficient_quota")],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  {
    via: "openai",
    name: "a limit on billing",
    body: oneGpt,
    faults: [openaiError(400, "billing_hard_limit_reached")],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  {
    via: "google",
    name: "a wrong key",
    body: gemini,
    faults: [googleError(400, "INVALID_ARGUMENT", "API_KEY_INVALID")],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  {
    via: "google",
    name: "no permission",
    body: gemini,
    faults: [googleError(403, "PERMISSION_DENIED")],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  {
    via: "midjourney",
    name: "a wrong secret",
    body: journey,
    faults: [instead(401, {})],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  {
    via: "ark",
    name: "a balance that is overdue",
    body: seedance,
    faults: [arkError(403, "AccountOverdueError")],
    want: FAILED,
    alarm: true,
  },
  {
    via: "ark",
    name: "a model that was not opened",
    body: seedance,
    faults: [arkError(404, "ModelNotOpen")],
    want: FAILED,
    alarm: true,
  },
  {
    via: "fal",
    name: "a balance that is exhausted",
    body: oneQwen,
    faults: [instead(403, { detail: "User is locked. Reason: Exhausted balance." })],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  {
    via: "wavespeed",
    name: "a balance that is exhausted",
    body: oneQwen,
    faults: [waveError(402)],
    want: FAILED,
    status: 502,
    alarm: true,
  },
  // U50: fewer than were asked for are charged as they are.
  {
    via: "fal",
    name: "U50: two of four pictures",
    body: { ...qwen, n: 4 },
    scripts: [{ files: ["picture", "picture"] }],
    want: "completed 2 700",
  },
  {
    via: "wavespeed",
    name: "U50: two of four pictures",
    body: { ...qwen, n: 4 },
    scripts: [{}, {}, { fails: { code: "", message: "No." } }, { fails: { code: "", message: "No." } }],
    want: "completed 2 700",
  },
  {
    via: "openai",
    name: "U50: two of four pictures, by tokens",
    body: { ...gpt, n: 4 },
    scripts: [{ files: ["picture", "picture"] }],
    want: "completed 2 1054.2",
  },
  {
    via: "google",
    name: "U50: two of four calls",
    body: { ...gemini, n: 4 },
    faults: [undefined, googleError(500, "INTERNAL"), undefined, googleError(429, "RESOURCE_EXHAUSTED")],
    want: "completed 2 2742",
  },
  {
    via: "midjourney",
    name: "U50: four pictures told apart",
    body: journey,
    scripts: [{ files: ["picture", "picture", "picture", "picture"] }],
    want: "completed 4 1000",
  },
  {
    via: "midjourney",
    name: "U50: two of four pictures",
    body: journey,
    scripts: [{ files: ["picture", "missing", "half", "picture"] }],
    want: "completed 2 500",
  },
  {
    via: "openai",
    name: "U50: no picture",
    body: oneGpt,
    scripts: [{ files: [] }],
    want: FAILED,
    status: 502,
  },
  {
    via: "google",
    name: "U50: half a picture",
    body: gemini,
    scripts: [{ files: ["half"] }],
    want: FAILED,
    status: 502,
  },
  // U51: results that are not what they should be.
  {
    via: "ark",
    name: "U51: an expired link",
    body: seedance,
    scripts: [{ files: ["missing"] }],
    want: FAILED,
  },
  {
    via: "fal",
    name: "U51: a page in place of a film",
    body: seedance,
    scripts: [{ files: ["page"] }],
    want: FAILED,
  },
  {
    via: "wavespeed",
    name: "U51: a redirect to a private address",
    body: oneQwen,
    scripts: [{ files: ["redirect_to_private"] }],
    want: FAILED,
    status: 502,
  },
  {
    via: "midjourney",
    name: "U51: an expired link",
    body: journey,
    scripts: [{ files: ["missing"] }],
    want: FAILED,
    status: 502,
  },
  // U52: taken without a name.
  {
    via: "ark",
    name: "U52: no id, once",
    body: seedance,
    stage: "film",
    faults: [rewritten(/"id":"[^"]*"/, '"id":""')],
    want: "completed 1 7623",
  },
  {
    via: "fal",
    name: "U52: no address, once",
    body: oneQwen,
    faults: [rewritten(/_url/g, "_")],
    want: "completed 1 350",
  },
  {
    via: "wavespeed",
    name: "U52: no id, once",
    body: oneQwen,
    faults: [rewritten(/"id"/, '"di"')],
    want: "completed 1 350",
  },
  {
    via: "midjourney",
    name: "U52: no id, twice",
    body: journey,
    faults: again(rewritten(/"result"/, '"resul"'), 2),
    want: FAILED,
  },
  // U53: a job that vanishes.
  {
    via: "ark",
    name: "U53: a job that vanishes",
    body: seedance,
    scripts: [{ runningPolls: 9, vanishesAfter: 1 }],
    want: FAILED,
  },
  {
    via: "fal",
    name: "U53: a job that vanishes",
    body: oneQwen,
    scripts: [{ runningPolls: 9, vanishesAfter: 1 }],
    want: FAILED,
  },
  {
    via: "wavespeed",
    name: "U53: a job that vanishes",
    body: oneQwen,
    scripts: [{ runningPolls: 9, vanishesAfter: 1 }],
    want: FAILED,
  },
  {
    via: "midjourney",
    name: "U53: a job that vanishes",
    body: journey,
    scripts: [{ runningPolls: 9, vanishesAfter: 1 }],
    want: FAILED,
  },
  // U54: a word that nobody knows, a failure between, a way back.
  {
    via: "ark",
    name: "U54: odd answers on the way",
    body: seedance,
    stage: "poll",
    faults: [
      rewritten(/"running"/, '"pondering"'),
      arkError(500, "InternalServiceError"),
      arkError(400, "InvalidParameter"),
    ],
    want: "completed 1 7623",
  },
  {
    via: "fal",
    name: "U54: odd answers on the way",
    body: oneQwen,
    stage: "poll",
    faults: [rewritten(/IN_PROGRESS/, "PONDERING"), instead(502, {}), instead(422, { detail: "No." })],
    want: "completed 1 350",
  },
  {
    via: "fal",
    name: "U54: odd answers in place of the result",
    body: oneQwen,
    stage: "result",
    faults: [instead(502, {}), instead(429, {}), instead(400, { detail: "Request is still in progress" })],
    want: "completed 1 350",
  },
  {
    via: "wavespeed",
    name: "U54: odd answers on the way",
    body: oneQwen,
    stage: "poll",
    faults: [rewritten(/processing/, "pondering"), waveError(500), waveError(400)],
    want: "completed 1 350",
  },
  {
    via: "midjourney",
    name: "U54: odd answers on the way",
    body: journey,
    stage: "poll",
    faults: [rewritten(/IN_PROGRESS/, "PONDERING"), instead(500, {}), instead(400, {})],
    want: "completed 4 1000",
  },
  // What surely did not begin is sent again.
  {
    via: "midjourney",
    name: "a full queue",
    body: journey,
    faults: [proxyCode(23), proxyCode(3)],
    want: "completed 4 1000",
  },
  {
    via: "ark",
    name: "a limit",
    body: seedance,
    stage: "film",
    faults: [arkError(429, "ModelAccountRpmRateLimitExceeded")],
    want: "completed 1 7623",
  },
  {
    via: "openai",
    name: "a limit",
    body: oneGpt,
    faults: [openaiError(429, "rate_limit_exceeded")],
    want: "completed 1 527.4",
  },
];

describe("each vendor's faults", () => {
  for (const row of FAULTS)
    test(`${row.via}: ${row.name}`, async () => {
      const { via, body, want, status, alarm } = row;
      const { double, gateway } = stationOf(via);
      const stage = row.stage ?? (isFilm(body.model) ? "film" : "pictures");
      const prepare = (): void => {
        double.fault(stage, ...(row.faults ?? []));
        double.script(...(row.scripts ?? []));
      };
      const logged = gateway.logs.length;
      const before = (await gateway.account()).balance;
      prepare();
      const task = await ended(gateway, body);
      expect(told(task)).toBe(isFilm(body.model) ? want.replace(/^failed.*/, "failed") : want);
      await gateway.settled();
      expect(before - (await gateway.account()).balance).toBeCloseTo(task.credit ?? 0, 6);
      const lines = gateway.logs.slice(logged);
      expect(lines.some((line) => line.operator_fault === true)).toBe(alarm === true);
      expect(JSON.stringify([task, lines])).not.toContain(UPSTREAM_KEY);
      if (status === undefined) return;
      prepare();
      const response = await ask(gateway, body, false);
      expect(response.status).toBe(status);
      const { error } = (await response.json()) as Json;
      expect(error.type).toBe(status === 502 ? "upstream_error" : want.replace("failed ", ""));
    });
});
