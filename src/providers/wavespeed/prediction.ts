import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { refusalOf } from "../media-refusal.ts";
import type { MediaCall, MediaHttpAnswer, MediaOutput, MediaRefusal, MediaStep } from "../media.ts";

/** Starts a prediction. What is asked differs by model; what is answered does not. */
export async function createPrediction(json: JsonObject, call: MediaCall): Promise<MediaStep> {
  const answer = await call.send({ method: "POST", path: `/${call.upstreamId}`, json });
  const data = dataOf(answer);
  if (answer.status !== 200 || data === undefined)
    return { state: "refused", refusal: refusalOf(answer, call) };
  const { id } = data;
  if (typeof id !== "string" || id === "") return failed("The prediction has no id.");
  return readPrediction(id, data);
}

/** Asks after a prediction. There is no way to stop one. */
export async function pollPrediction(job: string, call: MediaCall): Promise<MediaStep> {
  const answer = await call.send({ method: "GET", path: `/predictions/${encodeURIComponent(job)}/result` });
  if (answer.status === 404) return { state: "unknown_job" };
  const data = dataOf(answer);
  // A poll that fails says nothing of the job.
  return data === undefined ? { state: "working", job } : readPrediction(job, data);
}

function dataOf({ status, json }: MediaHttpAnswer): JsonObject | undefined {
  return status === 200 && isJsonObject(json) && isJsonObject(json.data) ? json.data : undefined;
}

function readPrediction(
  job: string,
  { status, outputs, error, has_nsfw_contents: unsafe }: JsonObject,
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
      return { state: "done", outputs: kept.flatMap(outputOf) };
    }
    case "failed":
      return { state: "refused", refusal: readFailure(error) };
    default:
      return { state: "working", job };
  }
}

/** An address, or base64 with or without the head of a data URI. */
function outputOf(output: string): MediaOutput[] {
  if (/^https?:\/\//.test(output)) return [{ url: output }];
  try {
    return [{ bytes: Uint8Array.fromBase64(output.slice(output.indexOf(",") + 1)) }];
  } catch {
    return [];
  }
}

/** It fails with a sentence and no code. */
function readFailure(error: unknown): MediaRefusal {
  const message = typeof error === "string" ? error : "";
  const isModerated = /nsfw|safety|moderation|sensitive|content policy|prohibited/i.test(message);
  return { reason: isModerated ? "moderation" : "failed", message };
}

function failed(message: string): MediaStep {
  return { state: "refused", refusal: { reason: "failed", message } };
}
