import { type RawBuilder, sql } from "kysely";
import type { Engine } from "../../db/engine.ts";
import type { Database } from "../../db/schema.ts";
import type { AuditRequest } from "./request.ts";
import { storeTime } from "../records.ts";

/** Tasks in whose rows something is wrong, by what it is. */
export interface TaskFaults {
  /** Their end and that of their hold do not belong together (I4). */
  readonly charges: readonly string[];
  /** They should have ended, or their owner is dead (I5). */
  readonly left: readonly string[];
  /** They stand where no way leads (I6). */
  readonly strays: readonly string[];
}

/** So long after its deadline, or after its owner was last heard of, a task may still be as it was: then it was forgotten. */
const LEFT_MS = { overdue: 30_000, unowned: 60_000 } as const;

/** What the checks of tasks look at. */
interface TaskChecks {
  /** The requests that are looked at: each task that has ended has one. */
  readonly requests: RawBuilder<unknown>;
  readonly engine: Engine;
  readonly request: AuditRequest;
}

/** Looks at tasks that have not ended, and at those of `requests`; at every one when `full`. */
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

/** A task is charged when it completes and only then, by its one hold, which is open as long as the task is. */
const CHARGED_WRONGLY = sql`(h.id is null or h.id <> t.hold_id or coalesce(h.task_id, '') <> t.id
  or h.account_id <> t.account_id or coalesce(h.settled, -1) <> coalesce(t.charge, -1)
  or h.state <> case t.state when 'completed' then 'settled' when 'failed' then 'voided' when 'cancelled' then 'voided'
    else 'held' end)`;

/** Who has claimed it and when stands there from its first claim on; what it was asked, until its end. */
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

/** Open holds whose task is not there, has ended, or has another hold. */
async function holdsWithoutTask(tx: Database): Promise<readonly string[]> {
  const { rows } = await sql<{ id: string }>`
    select h.id from holds h left join tasks t on t.id = h.task_id
    where h.state = 'held' and h.task_id is not null
      and (t.id is null or t.ended_at_ms is not null or t.hold_id <> h.id)
    limit 1000`.execute(tx);
  return rows.map((row) => row.id);
}

/** Ended tasks that no request leads to; found only by reading all. */
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
