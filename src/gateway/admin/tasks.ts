import { creditsNumber } from "../../core/money/credits.ts";
import type { TaskFailure, TaskKind, TaskState } from "../../core/task.ts";
import type { Database, TasksTable } from "../../db/schema.ts";
import type { Named } from "./filters.ts";
import { accountOf } from "./views.ts";
import { type Page, type PageRequest, readCursor, toPage } from "./page.ts";
import { type TimeRange, within } from "./time-range.ts";

/** A task as the admin interface shows it: counts and times, never content. Times are seconds, to the millisecond. */
export interface TaskView {
  readonly id: string;
  readonly kind: TaskKind;
  readonly status: TaskState;
  readonly account_id: string;
  readonly key_id: string;
  /** Names the request that submitted it, and its row among the paid requests once it has ended. */
  readonly request_id: string;
  readonly model: string;
  /** The provider that works or worked on it; null until a process has claimed it. */
  readonly provider: string | null;
  /** The provider's name for the job. */
  readonly job: string | null;
  /** How often a run was about to send it to the provider. */
  readonly attempts: number;
  /** Its charge; null unless it has completed. */
  readonly credit: number | null;
  readonly error: TaskFailure | null;
  readonly warnings: readonly string[];
  readonly timeout: number;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  /** Until when its files are kept; null when none are. */
  readonly files_until: number | null;
}

/** A filter of tasks, by when they were created; an absent member is not asked. */
export interface TaskFilter extends Omit<Named, "outcome">, TimeRange {
  readonly id?: string;
  readonly kind?: TaskKind;
  readonly status?: TaskState;
}

/** The columns that `taskView` reads, and the place of a row. */
export const LISTED_COLUMNS = [
  "seq",
  "id",
  "kind",
  "state",
  "account_id",
  "key_id",
  "request_id",
  "model",
  "provider",
  "job",
  "attempts",
  "charge",
  "error_type",
  "error_message",
  "warnings",
  "timeout_sec",
  "created_at_ms",
  "started_at_ms",
  "ended_at_ms",
  "files_until_ms",
] as const satisfies readonly (keyof TasksTable)[];

/** What routes add to the name of a provider that has another of its own for language models. */
const OF_MEDIA = ":media";

/**
 * Tasks, newest first. A provider that routes know by several names (`sandbox:media`) has one here, as in the rows of
 * requests.
 */
export async function listTasks(
  database: Database,
  filter: TaskFilter,
  { after, limit }: PageRequest,
): Promise<Page<TaskView>> {
  let query = database
    .selectFrom("tasks")
    .select(LISTED_COLUMNS)
    .where(within("created_at_ms", filter))
    .orderBy("seq", "desc")
    .limit(limit + 1);
  const cursor = readCursor(after);
  if (cursor !== undefined) query = query.where("seq", "<", cursor);
  for (const field of ["id", "account_id", "key_id", "model", "kind"] as const) {
    const value = filter[field];
    if (value !== undefined) query = query.where(field, "=", value);
  }
  const { key_id, provider, status } = filter;
  // They are among those of its account, which an index finds.
  if (key_id !== undefined) query = query.where("account_id", "=", accountOf(database, key_id));
  if (provider !== undefined) query = query.where("provider", "in", [provider, `${provider}${OF_MEDIA}`]);
  if (status !== undefined) query = query.where("state", "=", status);
  return toPage(await query.execute(), limit, taskView);
}

/** A row as the admin interface shows it. */
export function taskView(
  row: Pick<TasksTable, Exclude<(typeof LISTED_COLUMNS)[number], "seq" | "attempts">> & {
    readonly attempts: bigint;
  },
): TaskView {
  return {
    id: row.id,
    kind: row.kind,
    status: row.state,
    account_id: row.account_id,
    key_id: row.key_id,
    request_id: row.request_id,
    model: row.model,
    provider: row.provider?.replace(OF_MEDIA, "") ?? null,
    job: row.job,
    attempts: Number(row.attempts),
    credit: row.charge === null ? null : creditsNumber(row.charge),
    error: row.error_type === null ? null : { type: row.error_type, message: row.error_message ?? "" },
    warnings: JSON.parse(row.warnings) as string[],
    timeout: Number(row.timeout_sec),
    created_at: Number(row.created_at_ms) / 1000,
    started_at: inSeconds(row.started_at_ms),
    ended_at: inSeconds(row.ended_at_ms),
    files_until: inSeconds(row.files_until_ms),
  };
}

function inSeconds(ms: bigint | null): number | null {
  return ms === null ? null : Number(ms) / 1000;
}
