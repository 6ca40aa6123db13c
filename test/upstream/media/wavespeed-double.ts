import { Type } from "typebox";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Desk, fieldsOf, type MediaDouble, readBody, startMediaDouble } from "./media-double.ts";

/** A double of WaveSpeed's queue, written from its reference: predictions that are asked after. */
export function startWavespeedDouble(key: string): Promise<MediaDouble> {
  return startMediaDouble({ base: "/api/v3", answer }, key);
}

const STRICT = { additionalProperties: false };
const maybe = Type.Optional;
const prompt = Type.String({ minLength: 1 });
const link = (kind: string) => Type.String({ pattern: `^(https?://|data:${kind}/[\\w.+-]+;base64,)\\S+$` });
const seed = maybe(Type.Integer({ minimum: -1 }));
const size = maybe(Type.String({ pattern: "^\\d{3,4}\\*\\d{3,4}$" }));
const whole = (maximum: number) => maybe(Type.Integer({ minimum: 0, maximum }));

const midjourney = {
  prompt: Type.String({ minLength: 1, maxLength: 1_024 }),
  aspect_ratio: maybe(Type.Enum(["1:1", "9:16", "16:9", "4:3", "3:4", "2:3", "3:2", "9:21", "21:9"])),
  sref: maybe(Type.String({ pattern: "^https?://\\S+$" })),
  quality: maybe(Type.Enum([0.25, 0.5, 1, 2])),
  stylize: whole(1_000),
  chaos: whole(100),
  weird: whole(3_000),
  version: maybe(Type.Enum(["6", "6.1", "7"])),
  niji: maybe(Type.Enum(["close", "0", "5", "6"])),
  seed,
};
const gpt = {
  prompt,
  aspect_ratio: maybe(Type.Enum(["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"])),
  resolution: maybe(Type.Enum(["1k", "2k", "4k"])),
  quality: maybe(Type.Enum(["low", "medium", "high"])),
};
const wan = {
  prompt,
  negative_prompt: maybe(Type.String()),
  audio: maybe(link("audio")),
  duration: maybe(Type.Enum([5, 10, 15])),
  shot_type: maybe(Type.Enum(["single", "multi"])),
  enable_prompt_expansion: maybe(Type.Boolean()),
  seed,
};
const wanSize = maybe(Type.Enum(["1280*720", "720*1280", "1920*1080", "1080*1920"]));

const MODELS: Readonly<Record<string, (request: SeenRequest) => object | string>> = {
  "midjourney/text-to-image": readBody(Type.Object(midjourney, STRICT)),
  "wavespeed-ai/qwen-image-2.0/text-to-image": readBody(Type.Object({ prompt, size, seed }, STRICT)),
  "wavespeed-ai/qwen-image-2.0/edit": readBody(
    Type.Object(
      { prompt, size, seed, images: Type.Array(link("image"), { minItems: 1, maxItems: 3 }) },
      STRICT,
    ),
  ),
  "openai/gpt-image-2/text-to-image": readBody(Type.Object(gpt, STRICT)),
  "openai/gpt-image-2/edit": readBody(
    Type.Object({ ...gpt, images: Type.Array(link("image"), { minItems: 1 }) }, STRICT),
  ),
  "alibaba/wan-2.6/text-to-video": readBody(Type.Object({ ...wan, size: wanSize }, STRICT)),
  "alibaba/wan-2.6/image-to-video": readBody(
    Type.Object({ ...wan, image: link("image"), resolution: maybe(Type.Enum(["720p", "1080p"])) }, STRICT),
  ),
  "alibaba/wan-2.6/reference-to-video": readBody(
    Type.Object(
      {
        ...wan,
        duration: maybe(Type.Enum([5, 10])),
        size: wanSize,
        videos: Type.Array(link("video"), { minItems: 1 }),
      },
      STRICT,
    ),
  ),
};

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("authorization") !== `Bearer ${desk.key}`) return refused(401, "Invalid API key");
  const job = /^\/predictions\/([\w-]+)\/result$/.exec(path)?.[1];
  if (request.method === "GET" && job !== undefined) return desk.stage("poll", () => prediction(desk, job));
  const model = path.slice(1);
  const read = MODELS[model];
  if (request.method !== "POST" || read === undefined) return refused(404, "Model not found");
  return desk.stage(/video/.test(model) ? "video" : "images", () => {
    const body = read(request);
    if (typeof body === "string") return refused(400, body);
    return described(desk.take({ model, input: fieldsOf(request), parameters: {} }, request).job, "created");
  });
}

function prediction(desk: Desk, job: string): Answer {
  const work = desk.find(job);
  const standing = work === undefined ? "vanished" : desk.ask(work);
  switch (standing) {
    case "vanished":
      return refused(404, "Prediction not found");
    case "queued":
      return described(job, "created");
    case "running":
      return described(job, "processing");
    case "failed":
      return described(job, "failed", { error: work?.script.fails?.message ?? "" });
    default:
  }
  if (work === undefined) return refused(404, "Prediction not found");
  const isVideo = /video/.test(work.model);
  const count = work.model.startsWith("midjourney/") ? 4 : 1;
  const outputs = desk.urls(work, count, isVideo ? "video" : "image");
  return described(job, "completed", { outputs, has_nsfw_contents: outputs.map(() => false) });
}

function described(id: string, status: string, more: object = {}): Answer {
  const data = {
    id,
    status,
    outputs: [],
    has_nsfw_contents: [],
    error: "",
    timings: { inference: 0 },
    ...more,
  };
  return jsonAnswer(200, { code: 200, message: "success", data });
}

function refused(code: number, message: string): Answer {
  return jsonAnswer(code, { code, message });
}
