import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import type { ImageRequest, MidjourneyStyle } from "../../core/media/media.ts";
import { isGood, refusalOf, refusedQuestion, textAt, wasHeard } from "../media-answers.ts";
import type {
  MediaAdapter,
  MediaCall,
  MediaHttpAnswer,
  MediaOutput,
  MediaRefusal,
  MediaStep,
} from "../media.ts";

/**
 * Images of Midjourney, four to a job. What it is told beside the prompt are switches at the prompt's end.
 * https://github.com/novicezk/midjourney-proxy/blob/main/docs/api.md
 */
export const midjourneyImages: MediaAdapter<ImageRequest> = {
  async create(request, call) {
    const answer = await call.send({
      method: "POST",
      path: "/mj/submit/imagine",
      json: bodyOf(request, call),
    });
    return readSubmitted(answer);
  },

  async poll(job, _request, call) {
    const answer = await call.send({ method: "GET", path: `/mj/task/${job}/fetch` });
    // Of a job that it does not know it says nothing, or `null`.
    if (isGood(answer) && (answer.bytes.length === 0 || answer.json === null))
      return { state: "unknown_job" };
    return isGood(answer) && isJsonObject(answer.json) && textAt(answer.json, "status") !== undefined
      ? readTask(job, answer.json)
      : refusedQuestion(answer, refusalOf(answer, { message: "" }));
  },

  /** Only newer proxies know this; the job itself is spent. */
  async cancel(job, call) {
    return wasHeard(await call.send({ method: "POST", path: `/mj/task/${job}/cancel` }));
  },
};

/** Images to start from are named by address before the prompt; those that came as bytes go beside it. */
function bodyOf(request: ImageRequest, call: MediaCall): JsonObject {
  const isUrl = (image: string): boolean => /^https?:/i.test(image);
  const inline = request.images.filter((image) => !isUrl(image));
  return {
    botType: "MID_JOURNEY",
    prompt: [...request.images.filter(isUrl).map(inPrompt), request.prompt, ...switchesOf(request)].join(" "),
    ...(inline.length === 0 ? {} : { base64Array: inline }),
    state: call.reference,
  };
}

/** An address that cannot be taken for anything else in a prompt: choices in braces would be a job each. */
function inPrompt(url: string): string {
  return new URL(url).href.replace(/[{}]/g, encodeURIComponent);
}

/** https://docs.midjourney.com/hc/en-us/articles/32859204029709-Parameter-List */
function switchesOf({ aspectRatio, quality, seed, midjourney }: ImageRequest): readonly string[] {
  return [
    ...(aspectRatio === undefined || aspectRatio === "1:1" ? [] : [`--ar ${aspectRatio}`]),
    ...(midjourney === undefined ? [] : styleSwitches(midjourney)),
    ...(quality === undefined ? [] : [`--q ${quality}`]),
    ...(seed === undefined ? [] : [`--seed ${seed}`]),
  ];
}

function styleSwitches({ version, niji, stylize, chaos, weird, sref }: MidjourneyStyle): readonly string[] {
  return [
    niji === undefined ? `--v ${version}` : `--niji ${niji}`,
    `--s ${stylize}`,
    ...(chaos === 0 ? [] : [`--c ${chaos}`]),
    // It is no switch of niji.
    ...(weird === 0 || niji !== undefined ? [] : [`--weird ${weird}`]),
    ...(sref === undefined ? [] : [`--sref ${inPrompt(sref)}`]),
  ];
}

/** What the numbers of an answer to a submission mean; it is a 200 whatever they are. */
function readSubmitted(answer: MediaHttpAnswer): MediaStep {
  const body = isJsonObject(answer.json) ? answer.json : {};
  const message = textAt(body, "description") ?? "";
  switch (isGood(answer) ? body.code : undefined) {
    case 1:
    case 21:
    case 22: {
      const job = textAt(body, "result");
      return job !== undefined && JOB.test(job) ? { state: "working", job } : refused("unclear", message);
    }
    case 3:
    case 23:
      return refused("busy", message);
    case 24:
      return refused("moderation", message);
    case 4:
      return refused("invalid_request", message);
    default:
      return isGood(answer) && typeof body.code === "number"
        ? refused("failed", message)
        : { state: "refused", refusal: refusalOf(answer, { message }) };
  }
}

/** It stands in a path. */
const JOB = /^[\w-]{1,128}$/;

function readTask(job: string, task: JsonObject): MediaStep {
  switch (task.status) {
    case "SUCCESS":
      return { state: "done", outputs: outputsOf(task) };
    case "FAILURE":
      return readFailure(task.failReason);
    case "MODAL":
      return refused("failed", "The task waits for a second submission.");
    case "CANCEL":
      return refused("failed", "The task was cancelled at the proxy.");
    default:
      return { state: "working", job };
  }
}

/** Four images where the proxy tells them apart; else the one that has all of them, in two rows of two. */
function outputsOf({ imageUrl, imageUrls }: JsonObject): readonly MediaOutput[] {
  const single = (Array.isArray(imageUrls) ? imageUrls : [])
    .filter(isJsonObject)
    .flatMap(({ url }) => (typeof url === "string" ? [{ url }] : []));
  // One alone is the grid again.
  if (single.length > 1) return single;
  return typeof imageUrl === "string" ? [{ url: imageUrl, grid: { columns: 2, rows: 2 } }] : [];
}

/** It fails with a sentence and no code. */
function readFailure(reason: unknown): MediaStep {
  const message = typeof reason === "string" ? reason : "";
  return refused(/banned prompt|moderat|blocked|sensitive/i.test(message) ? "moderation" : "failed", message);
}

function refused(reason: MediaRefusal["reason"], message: string): MediaStep {
  return { state: "refused", refusal: { reason, message } };
}
