import { isJsonObject, type JsonObject } from "../../core/json/json-value.ts";
import {
  type CodeTable,
  isGood,
  objectAt,
  reasonIn,
  refusalOf,
  refusedQuestion,
  textAt,
} from "../media-answers.ts";
import type { MediaCall, MediaHttpAnswer, MediaOutput, MediaRefusal, MediaStep } from "../media.ts";

/** Starts a prediction. What is asked differs by model; what is answered does not. */
export async function createPrediction(json: JsonObject, call: MediaCall): Promise<MediaStep> {
  const answer = await call.send({ method: "POST", path: `/${call.upstreamId}`, json });
  const data = objectAt(answer.json, "data");
  const job = textAt(data, "id");
  if (!isGood(answer) || job === undefined || !JOB.test(job))
    return { state: "refused", refusal: readRefusal(answer) };
  return { state: "working", job };
}

/** Asks after a prediction. There is no way to stop one. */
export async function pollPrediction(job: string, call: MediaCall): Promise<MediaStep> {
  const answer = await call.send({ method: "GET", path: `/predictions/${job}/result` });
  const data = objectAt(answer.json, "data");
  return isGood(answer) && textAt(data, "status") !== undefined
    ? readPrediction(job, data)
    : refusedQuestion(answer, readRefusal(answer));
}

/** It stands in a path. */
const JOB = /^[\w-]{1,128}$/;

/**
 * Of what is made of a request: https://wavespeed.ai/docs/error-codes. It has the caller's file that cannot be fetched
 * (1402), which no other server would fetch either.
 */
const CODES: CodeTable = [
  ["moderation", /^1200$/],
  ["invalid_request", /^140[012]$/],
  ["failed", /^140[35]$/],
];

/** The code is one of those, or the status, which may stand in the body alone; a sentence tells what was wrong. */
function readRefusal(answer: MediaHttpAnswer): MediaRefusal {
  const body = isJsonObject(answer.json) ? answer.json : {};
  const message = textAt(body, "message") ?? "";
  const inBody = isGood(answer) && typeof body.code === "number" && body.code >= 400;
  const status = inBody ? Number(body.code) : answer.status;
  return refusalOf(
    { ...answer, status, header: answer.header, json: body },
    {
      message,
      reason:
        reasonIn(CODES, String(body.code)) ??
        (status === 400 && MODERATED.test(message) ? "moderation" : undefined),
    },
  );
}

/** Words of sentences that say that something may not be made. */
const MODERATED = /\b(nsfw|safety|moderation|moderated|sensitive content|content policy|prohibited)\b/i;

function readPrediction(
  job: string,
  { status, outputs, error, code, has_nsfw_contents: unsafe }: JsonObject,
): MediaStep {
  switch (status) {
    case "completed": {
      const given = Array.isArray(outputs) ? outputs.filter((output) => typeof output === "string") : [];
      const kept = given.filter((_, place) => !(Array.isArray(unsafe) && unsafe[place] === true));
      if (kept.length === 0 && given.length > 0)
        return {
          state: "refused",
          refusal: { reason: "moderation", message: "What was made may not be shown." },
        };
      return { state: "done", outputs: kept.map(outputOf) };
    }
    case "failed":
      return { state: "refused", refusal: readFailure(error, code) };
    default:
      return { state: "working", job };
  }
}

/** An address, or base64 with or without the head of a data URI. */
function outputOf(output: string): MediaOutput {
  return /^https?:\/\//.test(output) ? { url: output } : { base64: output };
}

/** Older models fail with a sentence and no code. */
function readFailure(error: unknown, code: unknown): MediaRefusal {
  const message = typeof error === "string" ? error : "";
  const reason = reasonIn(CODES, String(code)) ?? "failed";
  return { reason: reason === "failed" && MODERATED.test(message) ? "moderation" : reason, message };
}
