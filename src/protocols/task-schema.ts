import { Type } from "typebox";
import { TASK_STATES } from "../core/task.ts";

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
