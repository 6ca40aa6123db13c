import { isEnded, type TaskState } from "../../core/task.ts";
import type { Changes, NewTask, TaskEnding } from "../decide/changes.ts";
import type { BooksState, References, TaskRow } from "../decide/state.ts";
import { columns, type Statement, toJson } from "./statement.ts";

/** Advisory locks of this class stand for providers whose running tasks are counted. */
const PROVIDER_LOCKS = 7_401;

/**
 * Locks the providers that tasks of a batch are claimed for, so that no two transactions count the same running tasks.
 * Taken before any account is locked, and in one order, so that two writers never wait for each other in a circle.
 * `undefined` when nothing is claimed.
 */
export function lockProvidersStatement({ runningAt }: References): Statement | undefined {
  if (runningAt.size === 0) return undefined;
  return {
    name: "books-lock-providers",
    text: `select pg_advisory_xact_lock(${PROVIDER_LOCKS}, number)
      from (select distinct hashtext(name) as number from unnest($1::text[]) as t(name) order by 1) as numbers`,
    values: [[...runningAt]],
  };
}

/** The values that `LOAD_TASKS` and `TASK_COLUMNS` take, from $5 on. */
export function taskReferences({ tasks, pendingOf, runningAt }: References): unknown[] {
  return [[...tasks], [...pendingOf], [...runningAt]];
}

/** Parts of the load statement that read what commands of tasks refer to. */
export const LOAD_TASKS = `
  t as materialized (
    select id, account_id, key_id, hold_id, state, epoch, owner, lease_until_ms, provider, job, attempts, refusals,
      deadline_ms, charge, files_until_ms, started_at_ms, ended_at_ms
    from tasks where id = any($5::text[])),
  w as materialized (
    select name, (select count(*) from tasks where account_id = name and state = 'pending') as tasks
    from unnest($6::text[]) as t(name)),
  r as materialized (
    select name, (select count(*) from tasks where provider = name and state = 'running') as tasks
    from unnest($7::text[]) as t(name))`;

/** What they give, and the time of the server. */
export const TASK_COLUMNS = `
  (select coalesce(json_agg(t), '[]') from t) as tasks,
  (select coalesce(json_agg(w), '[]') from w) as pending,
  (select coalesce(json_agg(r), '[]') from r) as running,
  cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as store_ms`;

/** The part of the load statement's row that is about tasks. */
export interface LoadedTasks {
  readonly tasks: readonly {
    id: string;
    account_id: string;
    key_id: string;
    hold_id: string;
    state: TaskState;
    epoch: number;
    owner: string | null;
    lease_until_ms: number | null;
    provider: string | null;
    job: string | null;
    attempts: number;
    refusals: number;
    deadline_ms: number;
    charge: number | null;
    files_until_ms: number | null;
    started_at_ms: number | null;
    ended_at_ms: number | null;
  }[];
  readonly pending: readonly { name: string; tasks: number }[];
  readonly running: readonly { name: string; tasks: number }[];
  readonly store_ms: string | bigint;
}

/** Tasks and their counts as they were read. */
export function tasksOf({
  tasks = [],
  pending = [],
  running = [],
  store_ms,
}: Partial<LoadedTasks>): Pick<BooksState, "tasks" | "pending" | "running" | "storeMs"> {
  return {
    tasks: new Map(tasks.map((row) => [row.id, taskRow(row)])),
    pending: new Map(pending.map(({ name, tasks: count }) => [name, count])),
    running: new Map(running.map(({ name, tasks: count }) => [name, count])),
    storeMs: store_ms === undefined ? null : Number(store_ms),
  };
}

function taskRow(row: LoadedTasks["tasks"][number]): TaskRow {
  return {
    id: row.id,
    account: row.account_id,
    key: row.key_id,
    hold: row.hold_id,
    state: row.state,
    epoch: row.epoch,
    owner: row.owner,
    leaseUntilMs: row.lease_until_ms,
    provider: row.provider,
    job: row.job,
    attempts: row.attempts,
    refusals: row.refusals,
    deadlineMs: row.deadline_ms,
    charge: row.charge === null ? null : BigInt(row.charge),
    filesUntilMs: row.files_until_ms,
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
  };
}

/** Parts of the save statement that write tasks; what is said of an end stays, since it is said once. */
export const SAVE_TASKS = `
  i as (insert into tasks (id, kind, account_id, key_id, hold_id, request_id, model, state, epoch, owner,
      lease_until_ms, provider, job, attempts, refusals, terms, warnings, timeout_sec, deadline_ms, result, error_type,
      error_message, charge, files_until_ms, created_at_ms, ready_at_ms, awaited_by, started_at_ms, ended_at_ms)
    select * from json_to_recordset($17::json) as t(id text, kind text, account text, key text, hold text,
      "requestId" text, model text, state text, epoch bigint, owner text, "leaseUntilMs" bigint, provider text,
      job text, attempts bigint, refusals bigint, terms text, warnings text, "timeoutSec" bigint, "deadlineMs" bigint, result text,
      "errorType" text, "errorMessage" text, charge bigint, "filesUntilMs" bigint, "createdAtMs" bigint,
      "readyAtMs" bigint, "awaitedBy" text, "startedAtMs" bigint, "endedAtMs" bigint)),
  t as (update tasks set state = t.state, epoch = t.epoch, owner = t.owner, lease_until_ms = t.lease,
      provider = t.provider, job = t.job, attempts = t.attempts, refusals = t.refusals, result = coalesce(t.result, tasks.result),
      error_type = coalesce(t.error_type, tasks.error_type),
      error_message = coalesce(t.error_message, tasks.error_message), charge = t.charge, files_until_ms = t.files,
      started_at_ms = t.started, ended_at_ms = t.ended
    from unnest($18::text[], $19::text[], $20::bigint[], $21::text[], $22::bigint[], $23::text[], $24::bigint[],
        $25::text[], $26::text[], $27::bigint[], $28::bigint[], $29::text[], $30::text[], $31::text[], $32::bigint[],
        $33::bigint[], $34::bigint[], $35::bigint[])
      as t(id, was, at_epoch, state, epoch, owner, lease, provider, job, attempts, refusals, result, error_type, error_message,
        charge, files, started, ended)
    where tasks.id = t.id and tasks.state = t.was and tasks.epoch = t.at_epoch returning 1),
  d as (delete from task_payloads where task_id = any($36::text[]))`;

/** How many tasks were changed. */
export const COUNT_TASKS = "(select count(*) from t)";

const NOTHING_SAID: TaskEnding = { result: null, errorType: null, errorMessage: null };

/** The values that `SAVE_TASKS` takes, from $17 on. */
export function savedTasks({ newTasks, changedTasks }: Changes): unknown[] {
  const changed = [...changedTasks.values()].map(({ before, row, ending }) =>
    Object.assign({ was: before.state, atEpoch: before.epoch }, row, ending ?? NOTHING_SAID),
  );
  const ended = [...changedTasks.values()].filter(
    ({ before, row }) => isEnded(row.state) && !isEnded(before.state),
  );
  return [
    toJson([...newTasks.values()].map(newRow)),
    ...columns(changed, [
      "id",
      "was",
      "atEpoch",
      "state",
      "epoch",
      "owner",
      "leaseUntilMs",
      "provider",
      "job",
      "attempts",
      "refusals",
      "result",
      "errorType",
      "errorMessage",
      "charge",
      "filesUntilMs",
      "startedAtMs",
      "endedAtMs",
    ]),
    ended.map(({ row }) => row.id),
  ];
}

function newRow({ row, ending, ...made }: NewTask): object {
  return Object.assign({}, made, { payload: undefined }, row, ending ?? NOTHING_SAID);
}

/** Each payload goes by itself, and as it is: they can be long, and a batch may have many. */
export function payloadStatements({ newTasks }: Changes): Statement[] {
  return [...newTasks.values()].flatMap(({ row, payload }) =>
    payload === undefined
      ? []
      : [
          {
            name: "books-payload",
            text: "insert into task_payloads (task_id, sealed) values ($1, $2)",
            values: [row.id, payload],
          },
        ],
  );
}
