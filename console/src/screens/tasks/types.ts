import { change, type Entry, read } from "../../api/client.ts";

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

/** Cancels a task by the rules of the public cancel. */
export async function cancelTask(id: string): Promise<void> {
  await change("post", "/admin/v1/tasks/{id}/cancel", { path: { id } });
}
