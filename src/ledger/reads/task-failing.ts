import type { Selectable } from "kysely";
import { mayBeBegun } from "../../core/task.ts";
import type { TasksTable } from "../../db/schema.ts";
import type { FailTask } from "../task-commands.ts";

/** The columns that failing a task needs, where no process runs it. */
export const FAILING_COLUMNS = [
  "id",
  "account_id",
  "key_id",
  "hold_id",
  "epoch",
  "attempts",
  "refusals",
] as const;

/** Fails a task as it was read: the command is `lost` once another claim came. */
export function failTask(
  row: Pick<Selectable<TasksTable>, (typeof FAILING_COLUMNS)[number]>,
  why: Pick<FailTask, "type" | "message" | "nowMs">,
): FailTask {
  return {
    kind: "fail",
    task: row.id,
    hold: row.hold_id,
    account: row.account_id,
    key: row.key_id,
    epoch: Number(row.epoch),
    unfinished: mayBeBegun(row),
    ...why,
  };
}
