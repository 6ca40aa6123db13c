import { Type } from "typebox";
import { type Task, type TaskResult, TASK_STATES } from "../core/task.ts";

// What tasks of images and videos have in common for those who ask for them.

/** A task that has come to something. */
export interface CompletedTask extends Task {
  readonly result: TaskResult;
  readonly charge: bigint;
}

/** Whether it has completed: its result and its charge are then known, both or neither. */
export function isCompleted(task: Task): task is CompletedTask {
  return task.state === "completed" && task.result !== null && task.charge !== null;
}

const Time = (description: string) => Type.Union([Type.Integer(), Type.Null()], { description });

/** Members of both kinds of task. */
export const TASK_MEMBERS = {
  status: Type.Enum([...TASK_STATES]),
  created: Type.Integer({ description: "Unix time" }),
  timeout: Type.Integer({ description: "Seconds from `created` until it fails, time in the queue included" }),
  polling_url: Type.String({ description: "Path of this task" }),
  cancel_url: Type.String({ description: "Path that a POST cancels it at, while it is pending" }),
  started_at: Time("Unix time; null until it is running"),
  completed_at: Time("Unix time of its end, whatever that was; null until then"),
  warnings: Type.Array(Type.String(), { description: "What was changed in what was asked for" }),
};

/** They of one task; `path` is where it is read. */
export function taskMembers(task: Task, path: string): Record<keyof typeof TASK_MEMBERS, unknown> {
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
