import type { Assets } from "../../assets/assets.ts";
import type { TaskState } from "../../core/task.ts";
import type { Database } from "../../db/schema.ts";
import { TASK_COLUMNS, taskOf } from "../../tasks/stored-task.ts";
import { LISTED_COLUMNS, type TaskView, taskView } from "./tasks.ts";

/** One task: its row, what became of it, and what it made. */
export interface TaskDetail extends TaskView {
  /** The states it has been in, with the time at which each began. */
  readonly states: readonly { readonly state: TaskState; readonly at: number }[];
  /** The provider's name for the job. */
  readonly provider_job_id: string | null;
  /** Files that are kept, with URLs that are signed now. */
  readonly outputs: readonly { readonly url: string; readonly media_type: string; readonly bytes: number }[];
}

/** What a task is shown with. */
export interface ShownTaskParts {
  readonly assets: Pick<Assets, "urlOf">;
  /** By the steady clock: until when files are kept. */
  readonly steadyMs: number;
}

/** The task of that id; `undefined` for any other. */
export async function readTask(
  database: Database,
  id: string,
  { assets, steadyMs }: ShownTaskParts,
): Promise<TaskDetail | undefined> {
  const row = await database
    .selectFrom("tasks")
    .select([...LISTED_COLUMNS, ...TASK_COLUMNS])
    .where("id", "=", id)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const view = taskView(row);
  const files = taskOf(row, steadyMs).result?.files ?? [];
  return {
    ...view,
    states: statesOf(view),
    provider_job_id: view.job,
    outputs: files.map((file) => ({
      url: assets.urlOf(id, file),
      media_type: file.mediaType,
      bytes: file.bytes,
    })),
  };
}

function statesOf({ status, created_at, started_at, ended_at }: TaskView): TaskDetail["states"] {
  return [
    { state: "pending", at: created_at },
    ...(started_at === null ? [] : [{ state: "running" as const, at: started_at }]),
    ...(ended_at === null ? [] : [{ state: status, at: ended_at }]),
  ];
}
