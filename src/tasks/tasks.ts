import type { MicroCredits } from "../core/money/credits.ts";
import { newId } from "../core/ids.ts";
import { insist } from "../core/time/insist.ts";
import type { Model, RouteOrder } from "../core/model.ts";
import type { PriceSnapshot } from "../core/money/price.ts";
import type { Random } from "../core/random.ts";
import type { Task, TaskKind } from "../core/task.ts";
import type { Database } from "../db/schema.ts";
import type { HoldRefusal } from "../ledger/commands.ts";
import type { CancelTask, SubmitTask } from "../ledger/task-commands.ts";
import { FAILING_COLUMNS, failTask } from "../ledger/reads/task-failing.ts";
import { createRulesText } from "../ledger/written-text.ts";
import type { Scheduler } from "./scheduler.ts";
import { CLIENT_GONE } from "./run/run-end.ts";
import type { RunParts } from "./run/run.ts";
import { pendingTask, TASK_COLUMNS, taskOf } from "./stored-task.ts";

/** Tasks as the use cases see them: submitted, read, waited for, cancelled. Only this folder changes their state. */
export interface Tasks {
  /** Sets credit aside and queues the task, or returns the reason why not. Durable when it resolves. */
  submit(submission: TaskSubmission): Promise<Task | HoldRefusal | "too_many_pending">;
  /** The task of this account, or of this key of it; `undefined` for any other id. Reads, and writes nothing. */
  find(kind: TaskKind, id: string, accountId: string, keyId?: string): Promise<Task | undefined>;
  /** Cancels it while it is pending. `cancelled` also where it was cancelled before. */
  cancel(
    kind: TaskKind,
    id: string,
    accountId: string,
    keyId?: string,
  ): Promise<"cancelled" | "started" | "ended" | "unknown_task">;
  /** The task once it has ended, in whatever process. Rejects with the signal's reason when that comes first. */
  ended(task: Task, signal: AbortSignal): Promise<Task>;
  /**
   * The client that waited has gone: cancels the task, stops it where it runs in this process, or fails it where
   * another runs it.
   */
  abandon(task: Task): Promise<void>;
}

/** A request that has been admitted. */
export interface TaskSubmission {
  readonly kind: TaskKind;
  readonly accountId: string;
  readonly keyId: string;
  readonly requestId: string;
  readonly model: Model;
  readonly snapshot: PriceSnapshot;
  /** The amount to hold: the most that it can cost. */
  readonly amount: MicroCredits;
  /** The operator's expected loss when a provider works for nothing. */
  readonly expectedCost: MicroCredits;
  /** Plain data; sealed in the store. */
  readonly payload: unknown;
  /** The order of routes that the client asks for; absent: the model's own. */
  readonly by?: RouteOrder | undefined;
  readonly warnings: readonly string[];
  readonly timeoutSec: number;
  /** The least time for which it stays pending; absent: none. */
  readonly minPendingMs?: number;
  /** Whether its client waits for its end and will not poll it: the task fails when this process dies. Absent is no. */
  readonly awaited?: boolean;
}

/** What tasks are made of. */
export interface TasksParts extends Pick<
  RunParts,
  "database" | "writer" | "clock" | "failpoint" | "bootId" | "cipher" | "endings" | "requests"
> {
  readonly random: Random;
  /** Receives new tasks, and stops of runs that no client waits for any more. */
  readonly scheduler: Pick<Scheduler, "wake" | "stop">;
  /** Pending tasks that an account may have. */
  readonly maxPending: () => number;
}

const ID_PREFIX = { image: "img", video: "vid" } as const;

/** A hold outlives its task's deadline by the time that the task's end may have to wait for the store. */
const END_MS = 10 * 60 * 1000;

/** How long the store is left alone before it is asked again. */
const RETRY_MS = 1_000;

/** Tasks over the one writer. */
export function createTasks(parts: TasksParts): Tasks {
  const { writer, clock, failpoint, endings, requests } = parts;
  const giveUp = createGivingUp(parts);

  const find: Tasks["find"] = async (kind, id, accountId, keyId) => {
    const row = await rowsOf(parts.database, kind, id, accountId, keyId)
      .select(TASK_COLUMNS)
      .executeTakeFirst();
    return row === undefined ? undefined : taskOf(row, clock.steadyMs());
  };

  return {
    find,

    submit: createSubmit(parts, giveUp),

    async cancel(kind, id, accountId, keyId) {
      const row = await rowsOf(parts.database, kind, id, accountId, keyId)
        .select(["state", "key_id", "hold_id"])
        .executeTakeFirst();
      if (row === undefined) return "unknown_task";
      // A task never goes back: for one that has begun or ended no command is needed.
      if (row.state === "cancelled") return "cancelled";
      if (row.state !== "pending") return row.state === "running" ? "started" : "ended";
      failpoint("task.before_cancel");
      const answer = await writer.submit({
        kind: "cancel",
        task: id,
        hold: row.hold_id,
        account: accountId,
        key: row.key_id,
        nowMs: clock.nowMs(),
      });
      if (!answer.ok) return answer.reason;
      requests.take(id);
      endings.ended(id);
      return "cancelled";
    },

    async ended(task, signal) {
      await endings.wait(task.id, signal);
      const read = async (): Promise<Task> => {
        const now = await find(task.kind, task.id, task.accountId);
        if (now === undefined) throw new Error("The task is not in the store.");
        return now;
      };
      return insist(read, { clock, pauseMs: RETRY_MS, signal });
    },

    abandon({ kind, id, accountId }) {
      const nowMs = clock.nowMs();
      requests.take(id);
      return giveUp(async () => {
        const row = await rowsOf(parts.database, kind, id, accountId)
          .select(["key_id", "hold_id"])
          .executeTakeFirst();
        if (row === undefined) return undefined;
        const { key_id: key, hold_id: hold } = row;
        return { kind: "cancel", task: id, hold, account: accountId, key, nowMs };
      });
    },
  };
}

/** `Tasks.submit`. */
function createSubmit(parts: TasksParts, giveUp: GiveUp): Tasks["submit"] {
  const { writer, failpoint, scheduler, requests } = parts;
  const submitCommand = submitting(parts);
  return async (submission) => {
    const command = await submitCommand(submission);
    const { task, hold, account, key, model, nowMs } = command;
    const { kind, timeoutSec, warnings } = submission;
    // Before the task is in the queue, where it may be claimed at once. The sealed request is at least as long as it is
    // in memory.
    const cached = { bytes: command.payload.length, keptMs: timeoutSec * 1000 };
    requests.keep(task, submission.payload, cached);
    failpoint("task.before_submit");
    const answer = await writer.submit(command).catch((error: unknown) => {
      requests.take(task);
      // The client gets an error: it does not wait for the task and must not pay for it.
      void giveUp(async () => ({ kind: "cancel", task, hold, account, key, nowMs }));
      throw error;
    });
    failpoint("task.after_submit");
    if (!answer.ok) {
      requests.take(task);
      return answer.reason;
    }
    scheduler.wake(submission.minPendingMs);
    return pendingTask({
      id: task,
      kind,
      accountId: account,
      model,
      timeoutSec,
      warnings,
      createdAtMs: nowMs,
    });
  };
}

/** Makes the commands of submissions. */
function submitting(parts: TasksParts): (submission: TaskSubmission) => Promise<SubmitTask> {
  const { clock, random, cipher } = parts;
  const rulesText = createRulesText();
  return async (submission) => {
    const { kind, snapshot, timeoutSec } = submission;
    const steadyMs = clock.steadyMs();
    const deadlineMs = steadyMs + timeoutSec * 1000;
    const payload = await cipher.seal(JSON.stringify(submission.payload));
    return {
      kind: "submit",
      task: newId(ID_PREFIX[kind], random),
      taskKind: kind,
      hold: newId("hold", random),
      account: submission.accountId,
      key: submission.keyId,
      requestId: submission.requestId,
      boot: parts.bootId,
      amount: submission.amount,
      expectedCost: submission.expectedCost,
      priceVersion: snapshot.version,
      priceRules: rulesText(snapshot),
      model: submission.model.id,
      payload,
      terms: JSON.stringify({ pricedAtMs: snapshot.pricedAtMs, facts: snapshot.facts, by: submission.by }),
      warnings: submission.warnings,
      timeoutSec,
      deadlineMs,
      readyAtMs: steadyMs + (submission.minPendingMs ?? 0),
      awaited: submission.awaited ?? false,
      maxPending: parts.maxPending(),
      nowMs: clock.nowMs(),
      expiresAtMs: deadlineMs + END_MS,
    };
  };
}

/** The row of this task of this account, if it is there. */
function rowsOf(database: Database, kind: TaskKind, id: string, accountId: string, keyId?: string) {
  const rows = database
    .selectFrom("tasks")
    .where("id", "=", id)
    .where("account_id", "=", accountId)
    .where("kind", "=", kind);
  return keyId === undefined ? rows : rows.where("key_id", "=", keyId);
}

/** Reads the command that cancels a task; `undefined` where there is no such task. Rejects while the store is away. */
type Cancelling = () => Promise<CancelTask | undefined>;

type GiveUp = (cancelling: Cancelling) => Promise<void>;

interface Abandoned {
  readonly cancelling: Cancelling;
  readonly tried: () => void;
}

/**
 * Ends tasks that no client waits for, however long the store is away; resolves after the first try. It cancels them,
 * or stops them where they run in this process, so that their provider is told. It fails those that other processes
 * run, and their runs find them lost: a client without a result pays for none. It ends one at a time, so that a store
 * that was away does not get all at once.
 */
function createGivingUp({ database, writer, clock, endings, scheduler }: TasksParts): GiveUp {
  const waiting: Abandoned[] = [];
  let busy = false;

  const giveUp = async (cancelling: Cancelling): Promise<void> => {
    const command = await cancelling();
    if (command === undefined) return;
    const answer = await writer.submit(command);
    if (answer.ok) endings.ended(command.task);
    else if (answer.reason === "started" && !scheduler.stop(command.task, "client_gone"))
      await failElsewhere(command);
  };

  const failElsewhere = async ({ task, nowMs }: CancelTask): Promise<void> => {
    const row = await database
      .selectFrom("tasks")
      .select(FAILING_COLUMNS)
      .where("id", "=", task)
      .where("ended_at_ms", "is", null)
      .executeTakeFirst();
    if (row === undefined) return;
    const answer = await writer.submit(
      failTask(row, { type: "generation_error", message: CLIENT_GONE, nowMs }),
    );
    if (!answer.ok) throw new Error("Another has taken the task meanwhile.");
    endings.ended(task);
  };

  const giveNext = async (): Promise<void> => {
    const abandoned = waiting.shift();
    busy = abandoned !== undefined;
    if (abandoned === undefined) return;
    try {
      await giveUp(abandoned.cancelling);
      void giveNext();
    } catch {
      waiting.push(abandoned);
      clock.setTimer(RETRY_MS, () => void giveNext());
    }
    abandoned.tried();
  };

  return (cancelling) =>
    new Promise((tried) => {
      waiting.push({ cancelling, tried });
      if (!busy) void giveNext();
    });
}
