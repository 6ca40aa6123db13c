import { isJsonObject, type JsonObject, objectsIn } from "../../core/json/json-value.ts";
import {
  type CodeTable,
  endedWith,
  isGood,
  objectAt,
  reasonIn,
  refusalOf,
  refusedQuestion,
  textAt,
  wasHeard,
} from "../media-answers.ts";
import type { MediaCall, MediaDone, MediaHttpAnswer, MediaRefusal, MediaStep } from "../media.ts";

/** Reads what a finished request came to, in the form of its model. */
export type ReadOutput = (result: JsonObject) => MediaDone | MediaRefusal;

/**
 * Queues a request. Where to ask after it comes with the answer: made by hand it would leave out a part of the model's
 * id. It is tried again there when a server of theirs is lost, which costs nothing; the task's deadline is ours.
 */
export async function queueRequest(json: JsonObject, call: MediaCall): Promise<MediaStep> {
  const answer = await call.send({ method: "POST", path: `/${call.upstreamId}`, json });
  const body = isGood(answer) && isJsonObject(answer.json) ? answer.json : {};
  const job = jobIn(textAt(body, "status_url") ?? textAt(body, "response_url") ?? "");
  return job === undefined ? { state: "refused", refusal: readRefusal(answer) } : { state: "working", job };
}

/**
 * The part of an address that is the same at every host of theirs, and behind every proxy of them. It is the model
 * without its last parts, and the name of the request.
 */
function jobIn(address: string): string | undefined {
  return JOB.exec(address)?.[1];
}

/** `openai/gpt-image-2/requests/764c`: it stands in a path. */
const JOB =
  /^https?:\/\/[^?#]*?\/((?:(?:workflows|comfy)\/)?[\w.-]{1,64}\/[\w.-]{1,64}\/requests\/[\w-]{1,128})(?:\/status)?$/;

/** Asks after a request, and fetches its result once it is there. */
export async function pollRequest(job: string, call: MediaCall, read: ReadOutput): Promise<MediaStep> {
  const answer = await call.send({ method: "GET", path: `/${job}/status` });
  const asked = isGood(answer) && isJsonObject(answer.json) ? answer.json : {};
  const status = textAt(asked, "status");
  if (status === undefined) return refusedQuestion(answer, readRefusal(answer));
  if (status !== "COMPLETED") return { state: "working", job };
  const result = await call.send({ method: "GET", path: `/${job}` });
  if (isEarly(result)) return { state: "working", job };
  if (isGood(result) && isJsonObject(result.json)) {
    const done = read(result.json);
    return "state" in done ? done : { state: "refused", refusal: done };
  }
  return readFailure(result, asked);
}

/** Stops a queued request, and a running one where it can be. */
export async function cancelRequest(job: string, call: MediaCall): Promise<boolean> {
  return wasHeard(await call.send({ method: "PUT", path: `/${job}/cancel` }));
}

function isEarly({ status, json }: MediaHttpAnswer): boolean {
  return status === 400 && isJsonObject(json) && /in progress/i.test(textAt(json, "detail") ?? "");
}

/** The result of a request that failed is its refusal; one that does not say why may be no more than a refused question. */
function readFailure(result: MediaHttpAnswer, asked: JsonObject): MediaStep {
  const refusal = readRefusal(result);
  const code = typeOf(result) ?? textAt(asked, "error_type");
  const hasFailed = code !== undefined || textAt(asked, "error") !== undefined;
  if (!hasFailed && !ENDS.has(result.status)) return refusedQuestion(result, refusal);
  const reason = reasonIn(TYPES, code) ?? (ENDS.has(result.status) ? refusal.reason : "failed");
  return {
    state: "refused",
    refusal: endedWith({ ...refusal, reason, ...(code === undefined ? {} : { code }) }),
  };
}

/** Statuses by which a result says that there is none, whatever else it says. */
const ENDS: ReadonlySet<number> = new Set([400, 413, 422, 500]);

/**
 * What went wrong with the input is a list, each with a type. What went wrong with their servers has one type and a
 * sentence. Some models answer in other shapes. https://docs.fal.ai/model-apis/errors
 */
function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const body = isJsonObject(answer.json) ? answer.json : {};
  const detail = detailOf(answer);
  const error = objectAt(body, "error");
  const code = typeOf(answer) ?? textAt(error, "code")?.slice(0, 100);
  return refusalOf(answer, {
    ...(code === undefined ? {} : { code }),
    message:
      (detail === undefined ? undefined : textAt(detail, "msg")) ??
      textAt(body, "detail") ??
      textAt(error, "message") ??
      textAt(body, "message") ??
      "",
    reason: reasonIn(TYPES, code),
    isOfInput: Array.isArray(detail?.loc) && detail.loc[0] === "body",
  });
}

/** What is wrong: of several the first whose type is known. */
function detailOf({ json }: MediaHttpAnswer): JsonObject | undefined {
  const details = isJsonObject(json) ? objectsIn(json.detail) : [];
  return details.find((detail) => reasonIn(TYPES, textAt(detail, "type")) !== undefined) ?? details[0];
}

function typeOf(answer: MediaHttpAnswer): string | undefined {
  const detail = detailOf(answer);
  const inBody = isJsonObject(answer.json) ? textAt(answer.json, "error_type") : undefined;
  const type = detail === undefined ? undefined : textAt(detail, "type");
  return (type ?? inBody ?? answer.header("x-fal-error-type") ?? undefined)?.slice(0, 100);
}

const TYPES: CodeTable = [
  ["moderation", /^(content_policy_violation|no_media_generated)$/],
  ["input_too_large", /too_(large|long)$/],
  [
    "unclear",
    /^(generation_timeout|downstream_service_\w+|internal_(server_)?error|(request|startup)_timeout|runner_\w+)$/,
  ],
  ["failed", /^client_(disconnected|cancelled)$/],
];
