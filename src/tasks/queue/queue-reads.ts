import { type RawBuilder, type Selectable, sql } from "kysely";
import type { TaskKind } from "../../core/task.ts";
import type { Engine as StoreEngine } from "../../db/engine.ts";
import type { Database, TasksTable } from "../../db/schema.ts";
import { readTaskTerms, type TaskTerms } from "../../ledger/reads/task-hold.ts";
import { storeTime } from "../../ledger/records.ts";
import type { Busy } from "./fair-order.ts";

/** A task that can be claimed, as it was read. */
export interface QueuedTask {
  readonly id: string;
  readonly kind: TaskKind;
  readonly accountId: string;
  readonly keyId: string;
  readonly holdId: string;
  readonly requestId: string;
  readonly model: string;
  readonly epoch: number;
  readonly timeoutSec: number;
  readonly createdAtMs: number;
  readonly readyAtMs: number;
  readonly deadlineMs: number;
  readonly terms: TaskTerms;
}

/** A task and its place among all that were ever submitted. */
export interface Placed {
  readonly seq: bigint;
  readonly task: QueuedTask;
}

const COLUMNS = [
  "tasks.seq",
  "tasks.id",
  "tasks.kind",
  "tasks.account_id",
  "tasks.key_id",
  "tasks.hold_id",
  "tasks.request_id",
  "tasks.model",
  "tasks.epoch",
  "tasks.provider",
  "tasks.timeout_sec",
  "tasks.created_at_ms",
  "tasks.ready_at_ms",
  "tasks.deadline_ms",
  "tasks.terms",
] as const;

type Column = (typeof COLUMNS)[number] extends `tasks.${infer Name}` ? Name : never;

// A constant in the statement's text: a partial index is used only where the statement itself has its condition.
const PENDING = sql.lit("pending" as const);
const RUNNING = sql.lit("running" as const);

/**
 * The first pending task of each line, of at most `limit` lines behind that of `after`. The index is entered once for
 * each line: tasks behind the first cost nothing.
 */
export async function findHeads(
  database: Database,
  after: Placed | undefined,
  maxLines: number,
): Promise<readonly Placed[]> {
  return (await headsQuery(database, after, maxLines).execute()).map(placed);
}

/** The statement of `findHeads`. */
export function headsQuery(database: Database, after: Placed | undefined, maxLines: number) {
  return database
    .withRecursive("heads(seq, place)", (query) =>
      query
        .selectFrom((from) => {
          const first = from
            .selectFrom("tasks")
            .select("seq")
            .where("state", "=", PENDING)
            .orderBy("account_id")
            .orderBy("kind")
            .orderBy("model")
            .orderBy("ready_at_ms")
            .orderBy("seq")
            .limit(1);
          if (after === undefined) return first.as("first");
          const { accountId, kind, model } = after.task;
          return first
            .where(sql<boolean>`(account_id, kind, model) > (${accountId}, ${kind}, ${model})`)
            .as("first");
        })
        .select(["first.seq", sql<number>`1`.as("place")])
        .unionAll(
          query
            .selectFrom("heads")
            .innerJoin("tasks as head", "head.seq", "heads.seq")
            .select((select) => {
              const behind = select
                .selectFrom("tasks as next")
                .select("next.seq")
                .where("next.state", "=", PENDING)
                .orderBy("next.account_id")
                .orderBy("next.kind")
                .orderBy("next.model")
                .orderBy("next.ready_at_ms")
                .orderBy("next.seq")
                .limit(1);
              const sameAccount = behind.whereRef("next.account_id", "=", "head.account_id");
              // Each finds its row by the index alone; one comparison of all three columns would not, on SQLite.
              const seq = select.fn.coalesce(
                sameAccount
                  .whereRef("next.kind", "=", "head.kind")
                  .whereRef("next.model", ">", "head.model")
                  .$asScalar(),
                sameAccount.whereRef("next.kind", ">", "head.kind").$asScalar(),
                behind.whereRef("next.account_id", ">", "head.account_id").$asScalar(),
              );
              return [seq.as("seq"), sql<number>`heads.place + 1`.as("place")];
            })
            .where("heads.place", "<", maxLines),
        ),
    )
    .selectFrom("heads")
    .innerJoin("tasks", "tasks.seq", "heads.seq")
    .select(COLUMNS)
    .orderBy("heads.place");
}

/** The tasks of a line behind its `head` that may be claimed at `steadyMs`, at most `limit`. */
export async function readLine(database: Database, head: Placed, bounds: LineBounds): Promise<Placed[]> {
  return (await lineQuery(database, head, bounds).execute()).map(placed);
}

/** Until when, and how far, a line is read. */
interface LineBounds {
  readonly steadyMs: number;
  readonly limit: number;
}

/** The statement of `readLine`. */
export function lineQuery(
  database: Database,
  { seq, task: { accountId, kind, model, readyAtMs } }: Placed,
  { steadyMs, limit }: LineBounds,
) {
  return database
    .selectFrom("tasks")
    .select(COLUMNS)
    .where("state", "=", PENDING)
    .where("account_id", "=", accountId)
    .where("kind", "=", kind)
    .where("model", "=", model)
    .where(sql<boolean>`(ready_at_ms, seq) > (${BigInt(readyAtMs)}, ${seq})`)
    .where("ready_at_ms", "<=", BigInt(steadyMs))
    .orderBy("ready_at_ms")
    .orderBy("seq")
    .limit(limit);
}

/** How many tasks of each account each provider runs, over all processes. */
export async function countRunning(database: Database): Promise<readonly Busy[]> {
  const rows = await database
    .selectFrom("tasks")
    .select(["provider", "account_id"])
    .select((row) => row.fn.countAll<bigint>().as("tasks"))
    .where("state", "=", RUNNING)
    .groupBy(["provider", "account_id"])
    .execute();
  return rows.map(({ provider, account_id: accountId, tasks }) => ({
    accountId,
    provider: provider ?? "",
    tasks: Number(tasks),
  }));
}

/** What tells a process which running tasks have been left behind. */
export interface LeaseView {
  readonly storeEngine: StoreEngine;
  readonly bootId: string;
  readonly steadyMs: number;
}

/** Running tasks that their process has left behind and whose deadline has not come, at most `limit`. */
export async function findOrphans(
  database: Database,
  view: LeaseView,
  limit: number,
): Promise<readonly { readonly task: QueuedTask; readonly provider: string }[]> {
  const rows = await database
    .selectFrom("tasks")
    .select(COLUMNS)
    .where("state", "=", RUNNING)
    .where(isLeft(view))
    .where("deadline_ms", ">", BigInt(view.steadyMs))
    .orderBy("lease_until_ms")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ task: placed(row).task, provider: row.provider ?? "" }));
}

/**
 * Whether a running task has been left behind: its lease has run out by the store's clock. In an embedded store any
 * other owner is dead.
 */
export function isLeft({ storeEngine, bootId, steadyMs }: LeaseView): RawBuilder<boolean> {
  const isOver = sql<boolean>`lease_until_ms <= ${storeTime(storeEngine, steadyMs)}`;
  return storeEngine === "sqlite" ? sql<boolean>`(${isOver} or owner <> ${bootId})` : isOver;
}

function placed(row: Pick<Selectable<TasksTable>, Column>): Placed {
  return {
    seq: row.seq,
    task: {
      id: row.id,
      kind: row.kind,
      accountId: row.account_id,
      keyId: row.key_id,
      holdId: row.hold_id,
      requestId: row.request_id,
      model: row.model,
      epoch: Number(row.epoch),
      timeoutSec: Number(row.timeout_sec),
      createdAtMs: Number(row.created_at_ms),
      readyAtMs: Number(row.ready_at_ms),
      deadlineMs: Number(row.deadline_ms),
      terms: readTaskTerms(row.terms),
    },
  };
}
