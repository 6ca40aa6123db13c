import { Type } from "typebox";
import { creditsText } from "../../core/money/credits.ts";
import { present } from "../../core/json/json-value.ts";
import type { Task } from "../../core/task.ts";
import { exactNumber } from "../exact-json.ts";
import { type CompletedTask, isCompleted, TASK_MEMBERS, taskMembers } from "../tasks.ts";

/** An image of a result: where it can be had, and its bytes for a client that asked for them. */
export interface ImageLink {
  readonly url: string;
  readonly base64?: string;
}

/** The constant of image tasks: the interface has two spellings, of which this is the schema's. */
const OBJECT = "image_generation.task";

const RESULT_MEMBERS = {
  data: Type.Array(
    Type.Object({
      url: Type.String({ format: "uri", description: "Signed, for an hour" }),
      b64_json: Type.Optional(
        Type.String({ description: "The image itself, where `response_format` asked for it by name" }),
      ),
    }),
  ),
  usage: Type.Optional(
    Type.Object(
      { input_tokens: Type.Integer(), output_tokens: Type.Integer(), total_tokens: Type.Integer() },
      { description: "On models that are billed by tokens" },
    ),
  ),
  credit: Type.Number({ description: "Cost in credits" }),
};

/** What a plain request is answered with. */
export const ImageResultSchema = Type.Object(
  { created: Type.Integer({ description: "Unix time" }), ...RESULT_MEMBERS },
  { title: "ImageResult" },
);

/** A task: what it came to stands at the top level and, whole, under `result`. */
export const ImageTaskSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal(OBJECT),
    ...TASK_MEMBERS,
    ...Type.Partial(Type.Object(RESULT_MEMBERS)).properties,
    result: Type.Optional(ImageResultSchema),
    error: Type.Union([
      Type.Object({ message: Type.String(), type: Type.String({ description: "`generation_error`, …" }) }),
      Type.Null(),
    ]),
  },
  { title: "ImageTask" },
);

/** The answer to a cancel. */
export const CancelledImageSchema = Type.Object(
  { id: Type.String(), object: Type.Literal(OBJECT), status: Type.Literal("cancelled") },
  { title: "CancelledImageTask" },
);

/** The whole result of a completed task as JSON. */
export function encodeImageResult(task: CompletedTask, links: readonly ImageLink[]): string {
  return JSON.stringify(resultOf(task, links));
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
  const result = resultOf(task, links);
  const { created: _made, ...own } = result;
  return JSON.stringify({ ...members, ...own, result });
}

/** The answer to a cancel. */
export function encodeCancelledImage(id: string): string {
  return JSON.stringify({ id, object: OBJECT, status: "cancelled" });
}

function resultOf({ result, charge }: CompletedTask, links: readonly ImageLink[]) {
  const { inputTokens = 0, outputTokens = 0 } = result.usage ?? {};
  const usage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  return {
    created: result.createdSec,
    data: links.map(({ url, base64 }) => ({ url, ...present({ b64_json: base64 }) })),
    ...(result.usage === undefined ? {} : { usage }),
    credit: exactNumber(creditsText(charge)),
  };
}
