import { creditsText } from "../../core/credits.ts";
import type { Task } from "../../core/task.ts";
import { jsonText } from "../json-text.ts";
import { isCompleted, taskMembers } from "../task-members.ts";

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
  return jsonText({ ...members, output: { urls } }, { credit: creditsText(task.charge) });
}

/** The answer to a cancel. */
export function encodeCancelledVideo(id: string): string {
  return JSON.stringify({ id, status: "cancelled" });
}
