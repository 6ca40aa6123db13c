import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { refusalOf } from "../media-refusal.ts";
import type { MediaCall, MediaDone, MediaHttpAnswer, MediaRefusal, MediaStep } from "../media.ts";

/** Reads what a finished request came to, in the form of its model. */
export type ReadOutput = (result: JsonObject) => MediaDone | MediaRefusal;

/**
 * Queues a request. The addresses to ask at come with the answer and are kept as they are: made by hand they would
 * leave out a part of the model's id. The time to start is not limited there: the task's deadline is ours.
 */
export async function queueRequest(json: JsonObject, call: MediaCall): Promise<MediaStep> {
  const answer = await call.send({
    method: "POST",
    path: `/${call.upstreamId}`,
    // A second try of theirs would be a second picture, billed as such.
    headers: { "x-fal-no-retry": "1" },
    json,
  });
  if (answer.status !== 200) return { state: "refused", refusal: readRefusal(answer, call) };
  const status = isJsonObject(answer.json) ? answer.json.status_url : undefined;
  if (typeof status === "string" && status.endsWith("/status")) return { state: "working", job: status };
  return failed("The queue gave no address to ask at.");
}

/** Asks after a request, and fetches its result once it is there. */
export async function pollRequest(job: string, call: MediaCall, read: ReadOutput): Promise<MediaStep> {
  const answer = await call.send({ method: "GET", path: job });
  if (answer.status === 404) return { state: "unknown_job" };
  const status = isJsonObject(answer.json) ? answer.json.status : undefined;
  if (status !== "COMPLETED") return { state: "working", job };
  const result = await call.send({ method: "GET", path: job.slice(0, -"/status".length) });
  if (result.status >= 500) return failed(`The result is a ${result.status}.`);
  if (result.status === 400 && isEarly(result)) return { state: "working", job };
  if (result.status !== 200) return { state: "refused", refusal: ended(readRefusal(result, call)) };
  if (!isJsonObject(result.json)) return failed("The result is no object.");
  const done = read(result.json);
  return "state" in done ? done : { state: "refused", refusal: done };
}

/** Stops a queued request, and a running one where it can be. */
export async function cancelRequest(job: string, call: MediaCall): Promise<void> {
  await call.send({ method: "PUT", path: `${job.slice(0, -"/status".length)}/cancel` });
}

function isEarly({ json }: MediaHttpAnswer): boolean {
  return isJsonObject(json) && typeof json.detail === "string" && /in progress/i.test(json.detail);
}

/** What was begun is not sent again. */
function ended(refusal: MediaRefusal): MediaRefusal {
  return refusal.reason === "busy" ? { reason: "failed", message: refusal.message } : refusal;
}

/** A 422 has a list of what is wrong, each with a type. https://docs.fal.ai/errors */
function readRefusal(answer: MediaHttpAnswer, call: MediaCall): MediaRefusal {
  const details = isJsonObject(answer.json) && Array.isArray(answer.json.detail) ? answer.json.detail : [];
  for (const { type, msg } of details.filter(isJsonObject)) {
    const reason = MEANINGS.find(([types]) => typeof type === "string" && types.test(type))?.[1];
    if (reason !== undefined) return { reason, message: typeof msg === "string" ? msg : "" };
  }
  return refusalOf(answer, call);
}

const MEANINGS: readonly (readonly [RegExp, MediaRefusal["reason"]])[] = [
  [/^(content_policy_violation|no_media_generated)$/, "moderation"],
  [/too_(large|long)$/, "input_too_large"],
  [/^(generation_timeout|downstream_service_\w+|internal_server_error)$/, "failed"],
];

function failed(message: string): MediaStep {
  return { state: "refused", refusal: { reason: "failed", message } };
}
