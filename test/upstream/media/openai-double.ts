import { Type } from "typebox";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Desk, fieldsOf, type MediaDouble, readBody, startMediaDouble } from "./media-double.ts";

/** A double of OpenAI's makers of images, written from its reference: images in base64, while the call waits. */
export function startOpenaiDouble(key: string): Promise<MediaDouble> {
  return startMediaDouble({ base: "/v1", answer }, key);
}

const link = Type.String({
  pattern: "^(https?://\\S+|data:image/[a-z]+;base64,\\S+)$",
  maxLength: 20_971_520,
});
const common = {
  model: Type.Literal("gpt-image-2"),
  prompt: Type.String({ minLength: 1, maxLength: 32_000 }),
  n: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  size: Type.Optional(Type.String({ pattern: "^(auto|\\d+x\\d+)$" })),
  quality: Type.Optional(Type.Enum(["low", "medium", "high", "auto"])),
  background: Type.Optional(Type.Enum(["opaque", "auto"])),
  output_format: Type.Optional(Type.Enum(["png", "jpeg", "webp"])),
  output_compression: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  moderation: Type.Optional(Type.Enum(["low", "auto"])),
  user: Type.Optional(Type.String()),
};
const STRICT = { additionalProperties: false };
const image = Type.Object({ image_url: link }, STRICT);
const readGeneration = readBody(Type.Object(common, STRICT));
const readEdit = readBody(
  Type.Object(
    {
      ...common,
      images: Type.Array(image, { minItems: 1, maxItems: 16 }),
      mask: Type.Optional(image),
    },
    STRICT,
  ),
);

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("authorization") !== `Bearer ${desk.key}`)
    return refused(401, "invalid_api_key", "Incorrect API key provided.");
  const read = { "/images/generations": readGeneration, "/images/edits": readEdit }[path];
  if (read === undefined || request.method !== "POST")
    return refused(404, "unknown_url", "Unknown request URL.");
  return desk.stage("images", () => {
    const body = read(request);
    if (typeof body === "string") return refused(400, "invalid_value", body);
    const problem = sizeProblem(body.size);
    if (problem !== undefined) return refused(400, "invalid_value", problem);
    return make(desk, request, body.n ?? 1);
  });
}

/** https://platform.openai.com/docs/guides/image-generation (sizes of gpt-image-2) */
function sizeProblem(size: string | undefined): string | undefined {
  if (size === undefined || size === "auto") return undefined;
  const [width = 0, height = 0] = size.split("x").map(Number);
  const isFit =
    width % 16 === 0 &&
    height % 16 === 0 &&
    Math.max(width, height) <= Math.min(3_840, 3 * Math.min(width, height)) &&
    width * height >= 655_360 &&
    width * height <= 8_294_400;
  return isFit ? undefined : `Invalid size '${size}'.`;
}

function make(desk: Desk, request: SeenRequest, n: number): Answer {
  const input = fieldsOf(request);
  const work = desk.take({ model: String(input["model"]), input, parameters: {} }, request);
  const { fails, usage } = work.script;
  if (fails !== undefined) return refused(400, fails.code, fails.message);
  const images = desk.bytes(work, n);
  const tokens = 1_756 * images.length;
  return jsonAnswer(200, {
    created: 1_790_000_000,
    background: "opaque",
    output_format: "png",
    quality: "medium",
    size: "1024x1024",
    data: images.map((bytes) => ({ b64_json: Buffer.from(bytes).toString("base64") })),
    usage: usage ?? {
      input_tokens: 12,
      input_tokens_details: { text_tokens: 12, image_tokens: 0 },
      output_tokens: tokens,
      output_tokens_details: { image_tokens: tokens, text_tokens: 0 },
      total_tokens: 12 + tokens,
    },
  });
}

function refused(status: number, code: string, message: string): Answer {
  return jsonAnswer(status, { error: { message, type: "invalid_request_error", param: null, code } });
}
