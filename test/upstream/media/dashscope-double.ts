import { type Answer, jsonAnswer } from "../answer.ts";
import type { SeenRequest } from "../seen-request.ts";
import { type DashscopeRefusal, readVideo, readImages } from "./dashscope-strict.ts";
import { type Desk, type MediaDouble, startMediaDouble } from "./media-double.ts";

/**
 * A double of DashScope's makers of images and videos, as strict as the vendor. It makes images while the call waits,
 * and videos as tasks that are polled. It is no provider, and what it makes are files to count, not to look at.
 */
export function startDashscopeDouble(key: string): Promise<MediaDouble> {
  // Its base is as the vendor's SDKs take it.
  return startMediaDouble({ base: "/compatible-mode/v1", mediaBase: "/api/v1", answer }, key);
}

function answer(desk: Desk, request: SeenRequest, path: string): Answer {
  if (request.header("authorization") !== `Bearer ${desk.key}`)
    return refused({ status: 401, code: "InvalidApiKey", message: "Invalid API-key provided." });
  const job = /^\/tasks\/([\w-]+)(\/cancel)?$/.exec(path);
  switch (`${request.method} ${job === null ? path : `/tasks/*${job[2] ?? ""}`}`) {
    case "POST /services/aigc/multimodal-generation/generation":
      return desk.stage("images", () => takeImages(desk, request));
    case "POST /services/aigc/video-generation/video-synthesis":
      return desk.stage("video", () => takeVideo(desk, request));
    case "GET /tasks/*":
      return desk.stage("poll", () => taskAnswer(desk, job?.[1] ?? ""));
    case "POST /tasks/*/cancel":
      return desk.stage("cancel", () => cancelTask(desk, job?.[1] ?? ""));
    default:
      return refused({ status: 404, code: "NotFound", message: "No such path." });
  }
}

function refused({ status, code, message }: DashscopeRefusal): Answer {
  return jsonAnswer(status, { code, message, request_id: "double" });
}

function takeImages(desk: Desk, request: SeenRequest): Answer {
  const read = readImages(request);
  if ("status" in read) return refused(read);
  const work = desk.take(read, request);
  const { script, parameters } = work;
  if (script.fails !== undefined) return refused({ status: 400, ...script.fails });
  const n = typeof parameters["n"] === "number" ? parameters["n"] : 1;
  const urls = desk.urls(work, n, "image");
  return jsonAnswer(200, {
    output: {
      // The vendor puts them into one choice or into several.
      choices: urls.map((image) => ({
        finish_reason: "stop",
        message: { role: "assistant", content: [{ image }] },
      })),
    },
    usage: script.usage ?? { image_count: urls.length, width: 2_048, height: 2_048 },
    request_id: "double",
  });
}

function takeVideo(desk: Desk, request: SeenRequest): Answer {
  const read = readVideo(request);
  if ("status" in read) return refused(read);
  const { job } = desk.take(read, request);
  return jsonAnswer(200, { output: { task_status: "PENDING", task_id: job }, request_id: "double" });
}

const WORDS = {
  queued: "PENDING",
  running: "RUNNING",
  done: "SUCCEEDED",
  failed: "FAILED",
  cancelled: "CANCELED",
  vanished: "UNKNOWN",
} as const;

function taskAnswer(desk: Desk, job: string): Answer {
  const work = desk.find(job);
  const standing = work === undefined ? "vanished" : desk.ask(work);
  const task = (members: object = {}, more: object = {}): Answer =>
    jsonAnswer(200, {
      request_id: "double",
      output: { task_id: job, task_status: WORDS[standing], ...members },
      ...more,
    });
  if (work === undefined) return task();
  if (standing === "failed") return task(work.script.fails);
  if (standing !== "done") return task();
  const [url] = desk.urls(work, 1, "video");
  const usage = work.script.usage ?? { duration: work.parameters["duration"] ?? 5, video_count: 1, SR: 720 };
  return task({ video_url: url, actual_prompt: "double" }, { usage });
}

function cancelTask(desk: Desk, job: string): Answer {
  const work = desk.find(job);
  if (work === undefined || work.polls > (work.script.queuedPolls ?? 0))
    return refused({
      status: 400,
      code: "UnsupportedOperation",
      message: "Failed to cancel the task, please confirm if the task is in PENDING status.",
    });
  work.cancelled = true;
  return jsonAnswer(200, { request_id: "double" });
}
