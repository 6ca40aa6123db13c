import { Type } from "typebox";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type Desk, fieldsOf, type MediaDouble, readBody, startMediaDouble } from "./media-double.ts";

/** A double of Ark's maker of films (Seedance), written from its reference: tasks that are asked after. */
export function startArkDouble(key: string): Promise<MediaDouble> {
  return startMediaDouble({ base: "/api/v3", answer }, key);
}

const TASKS = "/contents/generations/tasks";
const STRICT = { additionalProperties: false };
const link = Type.Object(
  { url: Type.String({ pattern: "^(https?://|data:(image|audio)/[\\w.+-]+;base64,)\\S+$" }) },
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

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("authorization") !== `Bearer ${desk.key}`)
    return refused(401, "AuthenticationError", "The API key in the request is missing or invalid.");
  const job = new RegExp(`^${TASKS}/(cgt-[\\w-]+)$`).exec(path)?.[1];
  if (request.method === "POST" && path === TASKS) return desk.stage("film", () => take(desk, request));
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
          content: { video_url: desk.urls(work, 1, "film")[0] },
          // Counts have been seen as text.
          usage: script.usage ?? { completion_tokens: "108900", total_tokens: "108900" },
          error: null,
        }
      : {}),
  });
}

function cancel(desk: Desk, id: string): Answer {
  const work = desk.find(id.slice("cgt-".length));
  if (work === undefined || work.polls > (work.script.queuedPolls ?? 0))
    return refused(400, "InvalidAction.RunningTaskDeletion", "The task cannot be deleted now.");
  work.cancelled = true;
  return jsonAnswer(200, {});
}

function refused(status: number, code: string, message: string): Answer {
  return jsonAnswer(status, { error: { code, message, param: "", type: "BadRequest" } });
}
