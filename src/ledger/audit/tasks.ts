import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import type { AuditRequest } from "./request.ts";
import { storeTime } from "../records.ts";

/** Tasks whose rows are wrong, by the invariant that they break. */
export interface TaskFaults {
  /** The task's end and its hold's end contradict each other (I4). */
  readonly charges: readonly string[];
  /** The task should have ended, or its owner is dead (I5). */
  readonly left: readonly string[];
  /** The task is in a state that no transition leads to (I6). */
  readonly strays: readonly string[];
}

/** A task that is still unchanged so long after its deadline, or after its owner's last heartbeat, was forgotten. */
const LEFT_MS = { overdue: 30_000, unowned: 60_000 } as const;

/** The scope of the checks of tasks. */
interface TaskChecks {
  /** The requests to check: each ended task has one. */
  readonly requests: RawBuilder<unknown>;
  readonly engine: Engine;
  readonly request: AuditRequest;
}

/** Checks tasks that have not ended, and those of `requests`; every task when `full`. */
export async function taskFaults(
  tx: Database,
  { requests, engine, request }: TaskChecks,
): Promise<TaskFaults> {
  const looked = [
    ...(await wrongTasks(
      tx,
      sql`${requests} r join holds h on h.id = r.hold_id join tasks t on t.id = h.task_id`,
    )),
    ...(await wrongTasks(tx, sql`tasks t left join holds h on h.id = t.hold_id`, sql`t.ended_at_ms is null`)),
  ];
  const named = (is: (row: WrongTask) => bigint | number): readonly string[] => [
    ...new Set(looked.filter((row) => Number(is(row)) === 1).map((row) => row.id)),
  ];
  return {
    charges: [
      ...named((row) => row.charged),
      ...(await holdsWithoutTask(tx)),
      ...(request.full ? await tasksWithoutRequest(tx) : []),
    ],
    left: await leftTasks(tx, engine, request),
    strays: named((row) => row.strayed),
  };
}

interface WrongTask {
  readonly id: string;
  readonly charged: bigint | number;
  readonly strayed: bigint | number;
}

/** A task is charged only when it completes, by its one hold, which is open until the task ends. */
const CHARGED_WRONGLY = sql`(h.id is null or h.id <> t.hold_id or coalesce(h.task_id, '') <> t.id
  or h.account_id <> t.account_id or coalesce(h.settled, -1) <> coalesce(t.charge, -1)
  or h.state <> case t.state when 'completed' then 'settled' when 'failed' then 'voided' when 'cancelled' then 'voided'
    else 'held' end)`;

/** Its owner and start stand in the row from the first claim on; its sealed request until its end. */
const STRAYED = sql`((t.epoch > 0) <> (t.started_at_ms is not null) or (t.epoch > 0) <> (t.provider is not null)
  or (t.epoch = 0 and (t.job is not null or t.attempts > 0))
  or t.refusals not between 0 and t.attempts or (t.state in ('pending', 'cancelled') and t.epoch > 0)
  or (t.state in ('running', 'completed') and t.epoch = 0)
  or (t.ended_at_ms is null) <> exists (select 1 from task_payloads p where p.task_id = t.id))`;

async function wrongTasks(
  tx: Database,
  tasksAndHolds: RawBuilder<unknown>,
  which: RawBuilder<unknown> = sql`1 = 1`,
): Promise<readonly WrongTask[]> {
  const { rows } = await sql<WrongTask>`
    select t.id, case when ${CHARGED_WRONGLY} then 1 else 0 end as charged,
      case when ${STRAYED} then 1 else 0 end as strayed
    from ${tasksAndHolds} where ${which} and (${CHARGED_WRONGLY} or ${STRAYED}) limit 1000`.execute(tx);
  return rows;
}

/** Open holds whose task is missing, has ended, or has another hold. */
async function holdsWithoutTask(tx: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select h.id from holds h left join tasks t on t.id = h.task_id
    where h.state = 'held' and h.task_id is not null
      and (t.id is null or t.ended_at_ms is not null or t.hold_id <> h.id)
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

/** Ended tasks without a request; only a full scan finds them. */
async function tasksWithoutRequest(tx: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select t.id from tasks t left join requests r on r.id = t.request_id and r.hold_id = t.hold_id
    where t.ended_at_ms is not null and r.id is null limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

/**
 * The times count from when the store and this process were back: before, no process could end the tasks. A lease of 0
 * was released at an unknown time, and the deadline covers that task. Leases go by the store's clock.
 */
async function leftTasks(
  tx: Database,
  engine: Engine,
  { nowMs, thereSinceMs = Number.NEGATIVE_INFINITY }: AuditRequest,
): Promise<readonly string[]> {
  const hadTime = (ms: number): RawBuilder<boolean> =>
    nowMs - thereSinceMs > ms ? sql<boolean>`1 = 1` : sql<boolean>`1 = 0`;
  const { overdue, unowned } = LEFT_MS;
  const { rows } = await sql<{ id: string }>`
    select id from tasks where ended_at_ms is null
      and ((${hadTime(overdue)} and deadline_ms < ${BigInt(nowMs - overdue)})
        or (${hadTime(unowned)} and lease_until_ms > 0
          and lease_until_ms < ${storeTime(engine, nowMs)} - ${sql.lit(unowned)}))
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}
