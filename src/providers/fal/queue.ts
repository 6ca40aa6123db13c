import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import {
  type CodeTable,
  endedWith,
  isGood,
  objectAt,
  reasonIn,
  refusalOf,
  refusedQuestion,
  textAt,
} from "../media-answers.ts";
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
  const body = isGood(answer) && isJsonObject(answer.json) ? answer.json : {};
  const result = textAt(body, "response_url");
  const job = textAt(body, "status_url") ?? (result === undefined ? undefined : `${result}${STATUS}`);
  return job?.endsWith(STATUS) === true && job.length <= MOST_JOB
    ? { state: "working", job }
    : { state: "refused", refusal: readRefusal(answer) };
}

/** How the address ends at which a request is asked after; without it, it is that of its result. */
const STATUS = "/status";

const MOST_JOB = 500;

/** Asks after a request, and fetches its result once it is there. */
export async function pollRequest(job: string, call: MediaCall, read: ReadOutput): Promise<MediaStep> {
  const answer = await call.send({ method: "GET", path: job });
  const asked = isGood(answer) && isJsonObject(answer.json) ? answer.json : {};
  const status = textAt(asked, "status");
  if (status === undefined) return refusedQuestion(answer, readRefusal(answer));
  if (status !== "COMPLETED") return { state: "working", job };
  const result = await call.send({ method: "GET", path: job.slice(0, -STATUS.length) });
  if (isEarly(result)) return { state: "working", job };
  if (isGood(result) && isJsonObject(result.json)) {
    const done = read(result.json);
    return "state" in done ? done : { state: "refused", refusal: done };
  }
  return readFailure(result, textAt(asked, "error_type"));
}

/** Stops a queued request, and a running one where it can be. */
export async function cancelRequest(job: string, call: MediaCall): Promise<void> {
  await call.send({ method: "PUT", path: `${job.slice(0, -STATUS.length)}/cancel` });
}

function isEarly({ status, json }: MediaHttpAnswer): boolean {
  return status === 400 && isJsonObject(json) && /in progress/i.test(textAt(json, "detail") ?? "");
}

/** The result of a request that failed is its refusal; one that does not say why may be no more than a refused question. */
function readFailure(result: MediaHttpAnswer, type: string | undefined): MediaStep {
  const refusal = readRefusal(result);
  const ended = hasType(result) ? refusal : withType(refusal, type);
  if (ended !== undefined) return { state: "refused", refusal: endedWith(ended) };
  const { status } = result;
  return status === 400 || status === 422 || status === 413 || status === 500
    ? { state: "refused", refusal: endedWith(refusal) }
    : refusedQuestion(result, refusal);
}

/** The type that stands with the status, where it is known. */
function withType(refusal: MediaRefusal, type: string | undefined): MediaRefusal | undefined {
  const reason = reasonIn(TYPES, type);
  return reason === undefined
    ? undefined
    : { ...refusal, reason, ...(type === undefined ? {} : { code: type }) };
}

/** A 422 has a list of what is wrong, each with a type; some models answer in other shapes. https://docs.fal.ai/errors */
function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const body = isJsonObject(answer.json) ? answer.json : {};
  const detail = detailOf(answer);
  const error = objectAt(body, "error");
  const code = (detail === undefined ? textAt(error, "code") : textAt(detail, "type"))?.slice(0, 100);
  return refusalOf(answer, {
    ...(code === undefined ? {} : { code }),
    message:
      (detail === undefined ? undefined : textAt(detail, "msg")) ??
      textAt(body, "detail") ??
      textAt(error, "message") ??
      textAt(body, "message") ??
      "",
    reason: reasonIn(TYPES, code),
  });
}

/** What is wrong: of several the first whose type is known. */
function detailOf({ json }: MediaHttpAnswer): JsonObject | undefined {
  const details = isJsonObject(json) && Array.isArray(json.detail) ? json.detail.filter(isJsonObject) : [];
  return details.find((detail) => reasonIn(TYPES, textAt(detail, "type")) !== undefined) ?? details[0];
}

function hasType(answer: MediaHttpAnswer): boolean {
  const detail = detailOf(answer);
  return detail !== undefined && textAt(detail, "type") !== undefined;
}

const TYPES: CodeTable = [
  ["moderation", /^(content_policy_violation|no_media_generated)$/],
  ["input_too_large", /too_(large|long)$/],
  ["unclear", /^(generation_timeout|downstream_service_\w+|internal_server_error)$/],
];
