import type { Task, TaskFailure, TaskKind, TaskResult, TaskState } from "../core/task.ts";
import type { TasksTable } from "../db/schema.ts";

/** The columns that `taskOf` reads. */
export const TASK_COLUMNS = [
  "id",
  "kind",
  "account_id",
  "model",
  "state",
  "provider",
  "timeout_sec",
  "warnings",
  "result",
  "error_type",
  "error_message",
  "charge",
  "files_until_ms",
  "created_at_ms",
  "started_at_ms",
  "ended_at_ms",
] as const satisfies readonly (keyof TasksTable)[];

/** A row of the store with these columns. */
export type TaskColumns = Pick<TasksTable, (typeof TASK_COLUMNS)[number]>;

/** The task of a row, as it stands at `steadyMs`. */
export function taskOf(row: TaskColumns, steadyMs: number): Task {
  return {
    id: row.id,
    kind: row.kind,
    accountId: row.account_id,
    model: row.model,
    state: row.state,
    timeoutSec: Number(row.timeout_sec),
    warnings: JSON.parse(row.warnings) as string[],
    createdAtMs: Number(row.created_at_ms),
    startedAtMs: numberOrNull(row.started_at_ms),
    endedAtMs: numberOrNull(row.ended_at_ms),
    failure: failureOf(row),
    result: resultOf(row, steadyMs),
    charge: row.charge,
    provider: row.provider,
  };
}

/** A task that was just queued. */
export interface NewTask {
  readonly id: string;
  readonly kind: TaskKind;
  readonly accountId: string;
  readonly model: string;
  readonly timeoutSec: number;
  readonly warnings: readonly string[];
  readonly createdAtMs: number;
}

/** The new task as clients see it. */
export function pendingTask(task: NewTask): Task {
  const state: TaskState = "pending";
  const nothing = { startedAtMs: null, endedAtMs: null, failure: null, result: null };
  return { ...task, ...nothing, state, charge: null, provider: null };
}

/** The names of files that a stored result has. */
export function storedFileNames(result: string): readonly string[] {
  return readResult(result).files.map(({ name }) => name);
}

function failureOf({ error_type: type, error_message: message }: TaskColumns): TaskFailure | null {
  return type === null ? null : { type, message: message ?? "" };
}

/** Files are named only while they are kept. */
function resultOf({ result, files_until_ms: untilMs }: TaskColumns, steadyMs: number): TaskResult | null {
  if (result === null) return null;
  const made = readResult(result);
  return untilMs !== null && steadyMs < untilMs ? made : { ...made, files: [] };
}

function readResult(result: string): TaskResult {
  return JSON.parse(result) as TaskResult;
}

function numberOrNull(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
