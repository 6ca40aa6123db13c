import { Type } from "typebox";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Desk, fieldsOf, type MediaDouble, readBody, startMediaDouble } from "./media-double.ts";

/** A double of fal's queue, written from its reference: requests that are asked after at the addresses it gives. */
export function startFalDouble(key: string): Promise<MediaDouble> {
  return startMediaDouble({ base: "", answer }, key);
}

const link = (kind: string): ReturnType<typeof Type.String> =>
  Type.String({ pattern: `^(https?://|data:${kind}/[\\w.+-]+;base64,)\\S+$` });
const links = (kind: string, maxItems: number) => Type.Array(link(kind), { minItems: 1, maxItems });
const object = <P extends Parameters<typeof Type.Object>[0]>(properties: P) =>
  Type.Object(properties, { additionalProperties: false });
const maybe = Type.Optional;

const prompt = Type.String({ minLength: 1 });
const count = maybe(Type.Integer({ minimum: 1, maximum: 4 }));
const format = maybe(Type.Enum(["png", "jpeg", "webp"]));
const seed = maybe(Type.Integer({ minimum: 0 }));
const edge = Type.Integer({ minimum: 16, maximum: 3_840 });
const size = maybe(Type.Object({ width: edge, height: edge }, { additionalProperties: false }));
const flag = maybe(Type.Boolean());

const gpt = {
  prompt,
  image_size: size,
  num_images: count,
  quality: maybe(Type.Enum(["auto", "low", "medium", "high"])),
  output_format: format,
};
const banana = {
  prompt,
  aspect_ratio: maybe(
    Type.Enum(["auto", "1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"]),
  ),
  resolution: maybe(Type.Enum(["1K", "2K", "4K"])),
  num_images: count,
  output_format: format,
  seed,
};
const qwen = {
  prompt,
  negative_prompt: maybe(Type.String()),
  image_size: size,
  num_images: count,
  seed,
  output_format: format,
  enable_prompt_expansion: flag,
  enable_safety_checker: flag,
};
const wan = {
  prompt,
  negative_prompt: maybe(Type.String()),
  resolution: maybe(Type.Enum(["720p", "1080p"])),
  duration: maybe(Type.Enum(["5", "10", "15"])),
  enable_prompt_expansion: flag,
  multi_shots: flag,
  seed,
  audio_url: maybe(link("audio")),
};
const ratio = maybe(Type.Enum(["16:9", "9:16", "1:1", "4:3", "3:4"]));
const seedance = {
  prompt,
  resolution: maybe(Type.Enum(["480p", "720p", "1080p"])),
  duration: maybe(Type.Enum(["auto", ...Array.from({ length: 12 }, (_, i) => `${i + 4}`)])),
  generate_audio: flag,
};
const seedanceRatio = maybe(Type.Enum(["auto", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"]));
const seedanceWays = {
  "text-to-video": readBody(object({ ...seedance, aspect_ratio: seedanceRatio })),
  "image-to-video": readBody(
    object({ ...seedance, image_url: link("image"), end_image_url: maybe(link("image")) }),
  ),
  "reference-to-video": readBody(
    object({
      ...seedance,
      aspect_ratio: seedanceRatio,
      image_urls: maybe(links("image", 9)),
      video_urls: maybe(links("video", 3)),
      audio_urls: maybe(links("audio", 3)),
    }),
  ),
};

const ENDPOINTS: Readonly<Record<string, (request: SeenRequest) => object | string>> = {
  "openai/gpt-image-2": readBody(object(gpt)),
  "openai/gpt-image-2/edit": readBody(
    object({ ...gpt, image_urls: links("image", 16), mask_url: maybe(link("image")) }),
  ),
  "fal-ai/nano-banana-pro": readBody(object(banana)),
  "fal-ai/nano-banana-pro/edit": readBody(object({ ...banana, image_urls: links("image", 14) })),
  "fal-ai/qwen-image-2/text-to-image": readBody(object(qwen)),
  "fal-ai/qwen-image-2/edit": readBody(object({ ...qwen, image_urls: links("image", 3) })),
  "wan/v2.6/text-to-video": readBody(object({ ...wan, aspect_ratio: ratio })),
  "wan/v2.6/image-to-video": readBody(object({ ...wan, image_url: link("image") })),
  "wan/v2.6/reference-to-video": readBody(
    object({
      ...wan,
      duration: maybe(Type.Enum(["5", "10"])),
      aspect_ratio: ratio,
      video_urls: links("video", 3),
    }),
  ),
  ...Object.fromEntries(
    ["bytedance/seedance-2.0", "bytedance/seedance-2.0/fast"].flatMap((model) =>
      Object.entries(seedanceWays).map(([way, read]) => [`${model}/${way}`, read] as const),
    ),
  ),
};

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("authorization") !== `Key ${desk.key}`)
    return jsonAnswer(401, { detail: "Authentication is required to access this application." });
  // Of the model's id only the first two parts stand there.
  const asked = /^\/[\w.-]+\/[\w.-]+\/requests\/([\w-]+)(\/status|\/cancel)?$/.exec(path);
  const [, job = "", what = ""] = asked ?? [];
  if (request.method === "POST") return submit(desk, request, path.slice(1));
  if (asked === null) return jsonAnswer(404, { detail: "Not found" });
  if (request.method === "GET" && what === "/status") return desk.stage("poll", () => status(desk, job));
  if (request.method === "GET" && what === "") return desk.stage("result", () => result(desk, job));
  if (request.method === "PUT" && what === "/cancel") return desk.stage("cancel", () => cancel(desk, job));
  return jsonAnswer(405, { detail: "Method not allowed" });
}

function submit(desk: Desk, request: SeenRequest, model: string): Answer {
  const read = ENDPOINTS[model];
  if (read === undefined) return jsonAnswer(404, { detail: `Application ${model} not found` });
  const stage = /video/.test(model) ? "video" : "images";
  return desk.stage(stage, () => {
    const body = read(request);
    if (typeof body === "string")
      return jsonAnswer(422, { detail: [{ loc: ["body"], msg: body, type: "value_error" }] });
    const { job } = desk.take({ model, input: fieldsOf(request), parameters: {} }, request);
    const url = `${desk.url}/${model.split("/").slice(0, 2).join("/")}/requests/${job}`;
    return jsonAnswer(200, {
      status: "IN_QUEUE",
      request_id: job,
      queue_position: 0,
      response_url: url,
      status_url: `${url}/status`,
      cancel_url: `${url}/cancel`,
    });
  });
}

function status(desk: Desk, job: string): Answer {
  const work = desk.find(job);
  const standing = work === undefined ? "vanished" : desk.ask(work);
  switch (standing) {
    case "vanished":
      return jsonAnswer(404, { detail: "Request not found" });
    case "queued":
      return jsonAnswer(202, { status: "IN_QUEUE", request_id: job, queue_position: 1 });
    case "running":
      return jsonAnswer(202, { status: "IN_PROGRESS", request_id: job, logs: null });
    default:
      return jsonAnswer(200, { status: "COMPLETED", request_id: job, metrics: { inference_time: 1.5 } });
  }
}

/** A result is there once its request is completed; of one that failed it says why. */
function result(desk: Desk, job: string): Answer {
  const work = desk.find(job);
  if (work === undefined) return jsonAnswer(404, { detail: "Request not found" });
  const { script, model, input } = work;
  const { fails, queuedPolls = 0, runningPolls = 1 } = script;
  if (work.cancelled)
    return jsonAnswer(499, { detail: "Request was cancelled", error_type: "client_cancelled" });
  if (work.polls <= queuedPolls + runningPolls)
    return jsonAnswer(400, { detail: "Request is still in progress" });
  if (fails !== undefined) return failure(fails);
  if (/video/.test(model)) {
    const [url] = desk.urls(work, 1, "video");
    return jsonAnswer(200, { video: { url, content_type: "video/mp4" }, seed: 1 });
  }
  const urls = desk.urls(work, Number(input["num_images"] ?? 1), "image");
  return jsonAnswer(200, { images: urls.map((url) => ({ url, content_type: "image/png" })), seed: 1 });
}

/** What went wrong with their servers is told flatly, what went wrong with the input as a list. */
function failure({ code, message }: { readonly code: string; readonly message: string }): Answer {
  return /^(runner_|request_|startup_)/.test(code)
    ? jsonAnswer(503, { detail: message, error_type: code })
    : jsonAnswer(422, { detail: [{ loc: ["body", "prompt"], msg: message, type: code, input: "" }] });
}

function cancel(desk: Desk, job: string): Answer {
  const work = desk.find(job);
  if (work === undefined) return jsonAnswer(404, { status: "NOT_FOUND" });
  const { queuedPolls = 0, runningPolls = 1 } = work.script;
  if (work.polls > queuedPolls + runningPolls) return jsonAnswer(400, { status: "ALREADY_COMPLETED" });
  work.cancelled = true;
  return jsonAnswer(202, { status: "CANCELLATION_REQUESTED" });
}
