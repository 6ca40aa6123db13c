import { change, type Entry, read, send } from "../../api/client.ts";
import { pathOf } from "../playground/media-job.ts";

/** A task in a list. */
export type TaskRow = Entry<"/admin/v1/tasks">;

/** A file that a task made. */
export interface Output {
  readonly url: string;
  readonly media_type: string;
  readonly bytes: number;
}

/** One task. */
export interface TaskDetail extends TaskRow {
  readonly states: readonly { readonly state: TaskRow["status"]; readonly at: number }[];
  readonly outputs: readonly Output[];
}

/** Reads one task. */
export function readTask(id: string, signal: AbortSignal): Promise<TaskDetail> {
  return read("/admin/v1/tasks/{id}", { path: { id }, signal });
}

/** Cancels a task by the rules of the public cancel: an operator any task, a developer those of the session's key. */
export async function cancelTask({ id, kind }: TaskRow, isOperator: boolean): Promise<void> {
  if (isOperator) await change("post", "/admin/v1/tasks/{id}/cancel", { path: { id } });
  else await send("post", `/console/api/play/${pathOf(kind)}/${encodeURIComponent(id)}/cancel`);
}
