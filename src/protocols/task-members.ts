import type { JsonObject } from "../core/json-value.ts";
import type { Task, TaskResult } from "../core/task.ts";

/** A task that has come to something. */
export interface CompletedTask extends Task {
  readonly result: TaskResult;
  readonly charge: bigint;
}

/** Whether it has completed: its result and its charge are then known, both or neither. */
export function isCompleted(task: Task): task is CompletedTask {
  return task.state === "completed" && task.result !== null && task.charge !== null;
}

/** What both kinds of task tell of themselves; `path` is where it is read. Times are whole seconds. */
export function taskMembers(task: Task, path: string): JsonObject {
  return {
    status: task.state,
    created: inSeconds(task.createdAtMs),
    timeout: task.timeoutSec,
    polling_url: path,
    cancel_url: `${path}/cancel`,
    started_at: inSeconds(task.startedAtMs),
    completed_at: inSeconds(task.endedAtMs),
    warnings: task.warnings,
  };
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.floor(ms / 1000);
}
