import { Type } from "typebox";
import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import {
  type Desk,
  fieldsOf,
  type MediaDouble,
  readBody,
  startMediaDouble,
  type Work,
} from "./media-double.ts";

/** A double of a midjourney-proxy, written from its reference: jobs of four images in one, asked after. */
export function startMidjourneyDouble(key: string): Promise<MediaDouble> {
  return startMediaDouble({ base: "/proxy", answer }, key);
}

const read = readBody(
  Type.Object(
    {
      botType: Type.Enum(["MID_JOURNEY", "NIJI_JOURNEY"]),
      prompt: Type.String({ minLength: 1 }),
      base64Array: Type.Optional(Type.Array(Type.String({ pattern: "^data:image/[a-z]+;base64,\\S+$" }))),
      notifyHook: Type.Optional(Type.String()),
      state: Type.Optional(Type.String({ maxLength: 64 })),
    },
    { additionalProperties: false },
  ),
);

/** What stands at the end of a prompt, by its name: a switch of another form is one that nobody asked for. */
const SWITCHES: Readonly<Record<string, RegExp>> = {
  ar: /^\d{1,2}:\d{1,2}$/,
  v: /^(6|6\.1|7)$/,
  niji: /^[56]$/,
  q: /^(0\.25|0\.5|1|2)$/,
  s: /^(\d{1,3}|1000)$/,
  c: /^(\d{1,2}|100)$/,
  weird: /^([12]?\d{1,3}|3000)$/,
  sref: /^https?:\/\/\S+$/,
  seed: /^\d{1,10}$/,
};

/** Why a prompt cannot be drawn; in words. */
function promptProblem(prompt: string): string | undefined {
  const switches = prompt.split(/\s+--(?=[a-z])/).slice(1);
  const names = switches.map((each) => each.split(" ")[0] ?? "");
  const wrong = switches.find((each) => {
    const [name = "", ...values] = each.trim().split(" ");
    return SWITCHES[name]?.test(values.join(" ")) !== true;
  });
  if (wrong !== undefined) return `Invalid parameter --${wrong}`;
  if (new Set(names).size < names.length) return "A parameter stands twice.";
  return names.includes("niji") && (names.includes("v") || names.includes("weird"))
    ? "Parameters that do not go together."
    : undefined;
}

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("mj-api-secret") !== desk.key) return { status: 401, body: "" };
  const job = /^\/mj\/task\/([\w-]+)\/(fetch|cancel)$/.exec(path);
  switch (`${request.method} ${job?.[2] ?? path}`) {
    case "POST /mj/submit/imagine":
      return desk.stage("images", () => imagine(desk, request));
    case "GET fetch":
      return desk.stage("poll", () => fetchTask(desk, job?.[1] ?? ""));
    case "POST cancel":
      return desk.stage("cancel", () => ({ status: 200, body: "" }));
    default:
      return { status: 404, body: "" };
  }
}

/** Its own words are numbers in good answers. */
function imagine(desk: Desk, request: SeenRequest): Answer {
  const body = read(request);
  const problem = typeof body === "string" ? body : promptProblem(body.prompt);
  if (typeof body === "string" || problem !== undefined)
    return jsonAnswer(200, { code: 4, description: problem });
  const { job } = desk.take({ model: body.botType, input: fieldsOf(request), parameters: {} }, request);
  return jsonAnswer(200, {
    code: 1,
    description: "Submit success",
    result: job,
    properties: { discordInstanceId: "double" },
  });
}

const WORDS = {
  queued: "NOT_START",
  running: "IN_PROGRESS",
  done: "SUCCESS",
  failed: "FAILURE",
  cancelled: "CANCEL",
} as const;

function fetchTask(desk: Desk, id: string): Answer {
  const work = desk.find(id);
  const standing = work === undefined ? "vanished" : desk.ask(work);
  if (work === undefined || standing === "vanished") return { status: 404, body: "" };
  return jsonAnswer(200, {
    id,
    action: "IMAGINE",
    status: WORDS[standing],
    progress: standing === "done" ? "100%" : "50%",
    failReason: standing === "failed" ? work.script.fails?.message : null,
    state: work.input["state"],
    ...(standing === "done" ? imagesOf(desk, work) : {}),
  });
}

/** One file of four, unless the script says which files there are: those stand beside it. */
function imagesOf(desk: Desk, work: Work): object {
  const urls = desk.urls(work, 1, "grid");
  return urls.length > 1
    ? { imageUrl: urls[0], imageUrls: urls.map((url) => ({ url, thumbnail: url })) }
    : { imageUrl: urls[0] };
}
