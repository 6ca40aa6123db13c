import { creditsText } from "../../core/credits.ts";
import type { JsonObject } from "../../core/json-value.ts";
import type { Task, TaskUsage } from "../../core/task.ts";
import { jsonText } from "../json-text.ts";
import { type CompletedTask, isCompleted, taskMembers } from "../task-members.ts";

/** An image of a result: where it can be had, and its bytes for a client that asked for them. */
export interface ImageLink {
  readonly url: string;
  readonly base64?: string;
}

/** The constant of image tasks: the interface has two spellings, of which this is the schema's. */
const OBJECT = "image_generation.task";

/** The whole result of a completed task as JSON: what a plain request is answered with. */
export function encodeImageResult(task: CompletedTask, links: readonly ImageLink[]): string {
  const { result, charge } = task;
  const members = { created: result.createdSec, ...resultMembers(task, links) };
  return jsonText(members, { credit: creditsText(charge) });
}

/**
 * A task as JSON, in both of the interface's layouts: what it came to stands at the top level, and whole under `result`.
 * `links` are its images, in order, once it has completed.
 */
export function encodeImageTask(task: Task, links: readonly ImageLink[]): string {
  const members = {
    id: task.id,
    object: OBJECT,
    ...taskMembers(task, `/api/v1/images/generations/${task.id}`),
    error: task.failure === null ? null : { message: task.failure.message, type: task.failure.type },
  };
  if (!isCompleted(task)) return JSON.stringify(members);
  return jsonText(
    { ...members, ...resultMembers(task, links) },
    { credit: creditsText(task.charge), result: encodeImageResult(task, links) },
  );
}

/** The answer to a cancel. */
export function encodeCancelledImage(id: string): string {
  return JSON.stringify({ id, object: OBJECT, status: "cancelled" });
}

function resultMembers({ result }: CompletedTask, links: readonly ImageLink[]): JsonObject {
  return {
    data: links.map(({ url, base64 }) => ({ url, ...(base64 === undefined ? {} : { b64_json: base64 }) })),
    ...(result.usage === undefined ? {} : { usage: encodeUsage(result.usage) }),
  };
}

function encodeUsage({ inputTokens, outputTokens }: TaskUsage): JsonObject {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
}
