import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { type CodeTable, endedWith, isGood, reasonIn, refusalOf, textAt } from "../media-answers.ts";
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
  const status = isGood(answer) && isJsonObject(answer.json) ? textAt(answer.json, "status_url") : undefined;
  return status?.endsWith("/status") === true
    ? { state: "working", job: status }
    : { state: "refused", refusal: readRefusal(answer) };
}

/** Asks after a request, and fetches its result once it is there. */
export async function pollRequest(job: string, call: MediaCall, read: ReadOutput): Promise<MediaStep> {
  const answer = await call.send({ method: "GET", path: job });
  if (answer.status === 404) return { state: "unknown_job" };
  const status = isGood(answer) && isJsonObject(answer.json) ? answer.json.status : undefined;
  if (status === undefined) return { state: "refused", refusal: readRefusal(answer) };
  if (status !== "COMPLETED") return { state: "working", job };
  const result = await call.send({ method: "GET", path: job.slice(0, -"/status".length) });
  if (isEarly(result)) return { state: "working", job };
  if (!isGood(result) || !isJsonObject(result.json))
    return { state: "refused", refusal: endedUnless5xx(result) };
  const done = read(result.json);
  return "state" in done ? done : { state: "refused", refusal: done };
}

/** Stops a queued request, and a running one where it can be. */
export async function cancelRequest(job: string, call: MediaCall): Promise<void> {
  await call.send({ method: "PUT", path: `${job.slice(0, -"/status".length)}/cancel` });
}

function isEarly({ status, json }: MediaHttpAnswer): boolean {
  return status === 400 && isJsonObject(json) && /in progress/i.test(textAt(json, "detail") ?? "");
}

/** The result of a request that failed is the refusal; a 502 of their gateway says nothing of it. */
function endedUnless5xx(result: MediaHttpAnswer): MediaRefusal {
  const refusal = readRefusal(result);
  return result.status === 502 || result.status === 503 || result.status === 504
    ? refusal
    : endedWith(refusal);
}

/** A 422 has a list of what is wrong, each with a type. https://docs.fal.ai/errors */
function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const body = isJsonObject(answer.json) ? answer.json : {};
  const details = Array.isArray(body.detail) ? body.detail.filter(isJsonObject) : [];
  const detail =
    details.find(({ type }) => typeof type === "string" && reasonIn(TYPES, type) !== undefined) ?? details[0];
  const code = detail === undefined ? undefined : textAt(detail, "type")?.slice(0, 100);
  return refusalOf(answer, {
    ...(code === undefined ? {} : { code }),
    message:
      (detail === undefined ? undefined : textAt(detail, "msg")) ??
      textAt(body, "detail") ??
      textAt(body, "message") ??
      "",
    reason: reasonIn(TYPES, code),
  });
}

const TYPES: CodeTable = [
  ["moderation", /^(content_policy_violation|no_media_generated)$/],
  ["input_too_large", /too_(large|long)$/],
  ["unclear", /^(generation_timeout|downstream_service_\w+|internal_server_error)$/],
];
