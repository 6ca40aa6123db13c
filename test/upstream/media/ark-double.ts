import { Type } from "typebox";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Desk, fieldsOf, type MediaDouble, readBody, startMediaDouble } from "./media-double.ts";

/**
 * A double of Ark, written from its reference: Seedance's videos as tasks that are asked after, Seedream's images while
 * the call waits.
 */
export function startArkDouble(key: string): Promise<MediaDouble> {
  return startMediaDouble({ base: "/api/v3", answer }, key);
}

const TASKS = "/contents/generations/tasks";
const STRICT = { additionalProperties: false };
const link = Type.Object(
  // The format in a data URI must be in lower case.
  { url: Type.String({ pattern: "^(https?://|data:(image|audio)/[a-z0-9.+-]+;base64,)\\S+$" }) },
  STRICT,
);
const webLink = Type.Object({ url: Type.String({ pattern: "^https?://\\S+$" }) }, STRICT);
const read = readBody(
  Type.Object(
    {
      model: Type.String(),
      content: Type.Array(
        Type.Union([
          Type.Object({ type: Type.Literal("text"), text: Type.String({ minLength: 1 }) }, STRICT),
          Type.Object(
            {
              type: Type.Literal("image_url"),
              image_url: link,
              role: Type.Enum(["first_frame", "last_frame", "reference_image"]),
            },
            STRICT,
          ),
          Type.Object(
            { type: Type.Literal("video_url"), video_url: webLink, role: Type.Literal("reference_video") },
            STRICT,
          ),
          Type.Object(
            { type: Type.Literal("audio_url"), audio_url: link, role: Type.Literal("reference_audio") },
            STRICT,
          ),
        ]),
        { minItems: 1 },
      ),
      ratio: Type.Optional(Type.Enum(["16:9", "9:16", "4:3", "3:4", "1:1", "21:9", "adaptive"])),
      resolution: Type.Optional(Type.Enum(["480p", "720p", "1080p", "4k"])),
      duration: Type.Optional(Type.Integer({ minimum: 4, maximum: 15 })),
      seed: Type.Optional(Type.Integer({ minimum: -1, maximum: 4_294_967_295 })),
      watermark: Type.Optional(Type.Boolean()),
      generate_audio: Type.Optional(Type.Boolean()),
    },
    STRICT,
  ),
);

const image = Type.String({ pattern: "^(https?://|data:image/[a-z0-9.+-]+;base64,)\\S+$" });
const readImage = readBody(
  Type.Object(
    {
      model: Type.String(),
      prompt: Type.String({ minLength: 1 }),
      image: Type.Optional(Type.Union([image, Type.Array(image, { minItems: 1, maxItems: 14 })])),
      size: Type.Optional(Type.String({ pattern: "^(2K|3K|4K|\\d{3,5}x\\d{3,5})$" })),
      response_format: Type.Optional(Type.Enum(["url", "b64_json"])),
      output_format: Type.Optional(Type.Enum(["png", "jpeg"])),
      sequential_image_generation: Type.Optional(Type.Enum(["disabled", "auto"])),
      watermark: Type.Optional(Type.Boolean()),
    },
    STRICT,
  ),
);

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("authorization") !== `Bearer ${desk.key}`)
    return refused(401, "AuthenticationError", "The API key in the request is missing or invalid.");
  const job = new RegExp(`^${TASKS}/(cgt-[\\w-]+)$`).exec(path)?.[1];
  if (request.method === "POST" && path === "/images/generations")
    return desk.stage("images", () => takeImage(desk, request));
  if (request.method === "POST" && path === TASKS) return desk.stage("video", () => take(desk, request));
  if (request.method === "GET" && job !== undefined) return desk.stage("poll", () => readTask(desk, job));
  if (request.method === "DELETE" && job !== undefined) return desk.stage("cancel", () => cancel(desk, job));
  return refused(404, "NotFound", "No such path.");
}

function take(desk: Desk, request: SeenRequest): Answer {
  const body = read(request);
  if (typeof body === "string") return refused(400, "InvalidParameter", body);
  const isFast = /^dreamina-seedance-2-0-fast-260128$/.test(body.model);
  if (!isFast && body.model !== "dreamina-seedance-2-0-260128")
    return refused(404, "InvalidEndpointOrModel.NotFound", "The model does not exist.");
  if (isFast && !["480p", "720p"].includes(body.resolution ?? "720p"))
    return refused(400, "InvalidParameter", "resolution is not supported by the model.");
  const roles = body.content.map((item) => ("role" in item ? item.role : "text"));
  const count = (role: string): number => roles.filter((each) => each === role).length;
  const references = roles.filter((role) => role.startsWith("reference_"));
  const isFit =
    count("first_frame") <= 1 &&
    count("last_frame") <= count("first_frame") &&
    (references.length === 0 || count("first_frame") === 0) &&
    count("reference_image") <= 9 &&
    count("reference_video") <= 3 &&
    count("reference_audio") <= 3 &&
    (references.length === 0 || references.some((role) => role !== "reference_audio"));
  if (!isFit) return refused(400, "InvalidParameter", "The content is of roles that do not go together.");
  const { job } = desk.take({ model: body.model, input: fieldsOf(request), parameters: {} }, request);
  return jsonAnswer(200, { id: `cgt-${job}` });
}

/** Sizes in pixels have a least area and shapes that are not too long. */
function takeImage(desk: Desk, request: SeenRequest): Answer {
  const body = readImage(request);
  if (typeof body === "string") return refused(400, "InvalidParameter", body);
  if (body.model !== "seedream-5-0-260128")
    return refused(404, "InvalidEndpointOrModel.NotFound", "The model does not exist.");
  const [width = 2_048, height = 2_048] = body.size?.split("x").map(Number) ?? [];
  if (
    width * height < 3_686_400 ||
    width * height > 16_777_216 ||
    Math.max(width / height, height / width) > 16
  )
    return refused(400, "InvalidParameter", "The size is not supported.");
  const work = desk.take({ model: body.model, input: fieldsOf(request), parameters: {} }, request);
  const { fails, usage } = work.script;
  const data = fails === undefined ? desk.urls(work, 1, "image").map((url) => ({ url })) : [{ error: fails }];
  return jsonAnswer(200, {
    model: body.model,
    created: 1_790_000_000,
    data,
    usage: usage ?? { generated_images: fails === undefined ? 1 : 0, output_tokens: 16_384 },
  });
}

const WORDS = {
  queued: "queued",
  running: "running",
  done: "succeeded",
  failed: "failed",
  cancelled: "cancelled",
} as const;

function readTask(desk: Desk, id: string): Answer {
  const work = desk.find(id.slice("cgt-".length));
  const standing = work === undefined ? "vanished" : desk.ask(work);
  if (work === undefined || standing === "vanished")
    return refused(404, "ResourceNotFound", "The task is not found.");
  const { script, model } = work;
  return jsonAnswer(200, {
    id,
    model,
    status: WORDS[standing],
    ...(standing === "failed" ? { error: script.fails } : {}),
    ...(standing === "done"
      ? {
          content: { video_url: desk.urls(work, 1, "video")[0] },
          // Counts have been seen as text.
          usage: script.usage ?? { completion_tokens: "108900", total_tokens: "108900" },
          error: null,
        }
      : {}),
  });
}

/** A queued task is taken out, the record of one that has ended is removed, a running one stays. */
function cancel(desk: Desk, id: string): Answer {
  const work = desk.find(id.slice("cgt-".length));
  if (work === undefined) return refused(404, "ResourceNotFound", "The task is not found.");
  const { queuedPolls = 0, runningPolls = 1 } = work.script;
  if (work.polls > queuedPolls && work.polls <= queuedPolls + runningPolls)
    return refused(400, "InvalidAction.RunningTaskDeletion", "The task cannot be deleted now.");
  work.cancelled = true;
  return jsonAnswer(200, {});
}

function refused(status: number, code: string, message: string): Answer {
  return jsonAnswer(status, { error: { code, message, param: "", type: "BadRequest" } });
}
