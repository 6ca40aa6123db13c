import { Type } from "typebox";
import { creditsText } from "../../core/money/credits.ts";
import type { Task } from "../../core/task.ts";
import { exactNumber } from "../exact-json.ts";
import { isCompleted, TASK_MEMBERS, taskMembers } from "../tasks.ts";

/** A task. */
export const VideoTaskSchema = Type.Object(
  {
    id: Type.String(),
    ...TASK_MEMBERS,
    output: Type.Optional(
      Type.Object({
        urls: Type.Array(Type.String({ format: "uri", description: "Signed, for an hour" })),
      }),
    ),
    credit: Type.Optional(Type.Number({ description: "Cost in credits" })),
    error: Type.Optional(Type.String({ description: "Why it failed" })),
  },
  { title: "VideoTask" },
);

/** The answer to a cancel. */
export const CancelledVideoSchema = Type.Object(
  { id: Type.String(), status: Type.Literal("cancelled") },
  { title: "CancelledVideoTask" },
);

/**
 * A task as JSON. `urls` are its videos once it has completed; `output` and `credit` stand there only then, `error`, a
 * sentence, only when it has failed.
 */
export function encodeVideoTask(task: Task, urls: readonly string[]): string {
  const members = {
    id: task.id,
    ...taskMembers(task, `/api/v1/videos/${task.id}`),
    ...(task.failure === null ? {} : { error: task.failure.message }),
  };
  if (!isCompleted(task)) return JSON.stringify(members);
  return JSON.stringify({ ...members, output: { urls }, credit: exactNumber(creditsText(task.charge)) });
}

/** The answer to a cancel. */
export function encodeCancelledVideo(id: string): string {
  return JSON.stringify({ id, status: "cancelled" });
}
