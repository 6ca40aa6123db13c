import type { Assets } from "../../assets/assets.ts";
import type { Caller } from "../../core/caller.ts";
import type { Clock } from "../../core/time/clock.ts";
import { creditsText } from "../../core/money/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Handover } from "../../core/handover.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Task, TaskKind } from "../../core/task.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import type { LiveCall, LiveCalls } from "../live-calls.ts";
import type { Offer } from "../offer.ts";
import type { Reader } from "../reading/reader.ts";
import type { RequestRecord } from "../request-record.ts";
import { readStore } from "../store-read.ts";
import { providerHeaders } from "./provider.ts";

/** What the use cases of images and videos need. */
export interface MediaServices {
  readonly tasks: Tasks;
  readonly assets: Assets;
  readonly limiter: Limiter;
  readonly reader: Reader;
  readonly clock: Clock;
  /** The models and providers of this moment; a request sees one version of them throughout. */
  offer(): Offer;
  /** Hosts of the operator that links may lead to though they are not public, as they are now. */
  allowedHosts(): readonly string[];
  /** Requests that wait for their task, so that a shutdown can end them. */
  readonly live: Pick<LiveCalls, "add" | "delete">;
}

/** A caller's request for something new. */
export interface MediaInput {
  readonly caller: Caller;
  readonly body: Handover<Uint8Array>;
  /** The share of memory that holds the body until the task has it. */
  readonly memory: MemoryShare;
  readonly headers: Headers;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  readonly record: RequestRecord;
}

/** The answer to a client: JSON, and headers. */
export interface MediaAnswer {
  readonly status: 200 | 202;
  readonly body: string;
  readonly warnings: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * How long a client that is still there waits for the end of a cancelled task: a little longer than a run has for it.
 */
const END_MS = 5_000;

/**
 * The task once it has ended. When the client has gone, or the gateway is shutting down, the task is cancelled or
 * stopped. A client that is still there waits for the outcome, and gets, and pays for, what was made all the same.
 */
export async function awaitTask(services: MediaServices, task: Task, signal: AbortSignal): Promise<Task> {
  const { tasks, live } = services;
  const controller = new AbortController();
  const waiting: LiveCall = { abort: (reason) => controller.abort(reason) };
  live.add(waiting);
  try {
    return await tasks.ended(task, AbortSignal.any([signal, controller.signal]));
  } catch (error) {
    const left = await giveUp(services, task, !signal.aborted);
    if (left?.state === "completed") return left;
    throw error;
  } finally {
    live.delete(waiting);
  }
}

/**
 * Abandons the task, and gives its end where a client still waits; `undefined` where the store fails or takes too long.
 * The caller then tells the client why the wait has ended, and the deadline ends the task.
 */
async function giveUp(
  { tasks, clock }: MediaServices,
  task: Task,
  isWaiting: boolean,
): Promise<Task | undefined> {
  const late = new AbortController();
  const timer = clock.setTimer(END_MS, () => late.abort(new Error("It has not ended yet.")));
  try {
    await tasks.abandon(task);
    return isWaiting ? await tasks.ended(task, late.signal) : undefined;
  } catch {
    return undefined;
  } finally {
    timer.cancel();
  }
}

/** Notes the end of a task in its request's log line. */
export function noteEnd(record: RequestRecord, { state, failure, charge, provider }: Task): void {
  record.note({
    outcome: failure?.type ?? state,
    credit: creditsText(charge ?? 0n),
    ...(provider === null ? {} : { provider }),
  });
}

/** A request about an existing task. */
export interface TaskAsked {
  readonly kind: TaskKind;
  readonly id: string;
  readonly caller: Caller;
  readonly record: RequestRecord;
  /** The share of memory that holds an answer with files. */
  readonly memory: MemoryShare;
}

/** The form of ids; the store is not asked for other texts. */
const TASK_ID = /^[a-z0-9_.]{1,80}$/;

/** The task of that id, and headers that say where it comes from. A 404 for one of another kind or account. */
export async function findTask(
  services: MediaServices,
  { kind, id, caller, record }: TaskAsked,
): Promise<{ readonly task: Task; readonly headers: Readonly<Record<string, string>> }> {
  if (!TASK_ID.test(id)) throw noTask();
  const task = await readStore(services.tasks.find(kind, id, caller.accountId));
  if (task === undefined) throw noTask();
  record.note({ task: task.id });
  return { task, headers: providerHeaders(services.offer(), kind, task.model, task.provider) };
}

/** Cancels a pending task. Throws a 404 as `findTask` does, and a 409 once it has begun. */
export async function cancelTask(
  { tasks }: MediaServices,
  { kind, id, caller, record }: TaskAsked,
): Promise<void> {
  const cancelled = TASK_ID.test(id)
    ? await readStore(tasks.cancel(kind, id, caller.accountId))
    : "unknown_task";
  checkCancelled(cancelled);
  record.note({ task: id });
}

/** Throws unless the task was cancelled, now or before. */
export function checkCancelled(cancelled: Awaited<ReturnType<Tasks["cancel"]>>): void {
  if (cancelled === "unknown_task") throw noTask();
  if (cancelled === "started")
    throw new GatewayError(
      "conflict_error",
      "The task has begun, and only one that is pending can be cancelled. It runs to its end.",
    );
  if (cancelled === "ended")
    throw new GatewayError("conflict_error", "The task has ended, so there is nothing to cancel.");
}

/** The same 404 for every id that is no task of the caller's. */
function noTask(): GatewayError {
  return new GatewayError("not_found_error", "There is no such task.");
}
