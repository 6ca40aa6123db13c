import { creditsNumber } from "../../core/money/credits.ts";
import { TASK_STATES, type TaskFailure, type TaskKind, type TaskState } from "../../core/task.ts";
import type { Database, TasksTable } from "../../db/schema.ts";
import type { Named } from "./filters.ts";
import { type Page, type PageRequest, toPage } from "./page.ts";
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

const MAX_SEQ = 2n ** 63n - 1n;

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
  const { provider, status } = filter;
  const numbers = await numbersOf(database, filter);
  if (numbers === undefined) return toPage([], limit, taskView);
  const query = (of: string | undefined) => {
    let rows = database
      .selectFrom("tasks")
      .select(LISTED_COLUMNS)
      .where(within("created_at_ms", filter))
      .where("seq", ">=", numbers.first)
      .where("seq", "<=", numbers.last)
      .orderBy("seq", "desc")
      .limit(limit + 1);
    if (after !== undefined) rows = rows.where("seq", "<", after);
    for (const field of ["id", "account_id", "key_id", "model", "kind"] as const) {
      const value = filter[field];
      if (value !== undefined) rows = rows.where(field, "=", value);
    }
    if (status !== undefined) rows = rows.where("state", "=", status);
    return of === undefined ? rows : rows.where("provider", "=", of);
  };
  // Each name by itself: of both at once an index does not tell the order.
  const names = provider === undefined ? [undefined] : [provider, `${provider}${OF_MEDIA}`];
  const rows = await Promise.all(names.map((name) => query(name).execute()));
  return toPage(
    rows.flat().toSorted((one, other) => Number(other.seq - one.seq)),
    limit,
    taskView,
  );
}

/**
 * Between which numbers the tasks of a time are, by the index of times alone; `undefined` where there are none. The
 * count makes PostgreSQL read that index: for a least number alone it would walk the rows in the order of numbers.
 */
async function numbersOf(
  database: Database,
  range: TimeRange,
): Promise<{ readonly first: bigint; readonly last: bigint } | undefined> {
  if (range.fromMs === undefined && range.toMs === undefined) return { first: 0n, last: MAX_SEQ };
  const { first, last } = await database
    .selectFrom("tasks")
    .select(({ fn }) => [fn.min("seq").as("first"), fn.max("seq").as("last"), fn.countAll().as("tasks")])
    .where(within("created_at_ms", range))
    .executeTakeFirstOrThrow();
  return first === null || last === null ? undefined : { first, last };
}

/** How many tasks are in a state. */
export interface TaskCountView {
  readonly status: TaskState;
  readonly count: number;
}

/** How many of the tasks that were created in a time are in each state now, by an index alone. */
export async function countTasks(database: Database, range: TimeRange): Promise<readonly TaskCountView[]> {
  // Each state is counted in one walk of the index: groups would be sorted.
  const counts = await database
    .selectFrom("tasks")
    .select(({ fn }) =>
      TASK_STATES.map((state) => fn.countAll<bigint>().filterWhere("state", "=", state).as(state)),
    )
    .where(within("created_at_ms", range))
    .executeTakeFirstOrThrow();
  return TASK_STATES.map((status) => ({ status, count: Number(counts[status]) }));
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
