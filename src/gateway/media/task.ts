import type { Assets } from "../../assets/assets.ts";
import type { Caller } from "../../core/caller.ts";
import type { Clock } from "../../core/time/clock.ts";
import { creditsText } from "../../core/credits.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Handover } from "../../core/handover.ts";
import type { MemoryShare } from "../../core/bytes/request-memory.ts";
import type { Task, TaskKind } from "../../core/task.ts";
import type { Limiter } from "../../limits/limiter.ts";
import type { Tasks } from "../../tasks/tasks.ts";
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
  /** The models and providers of this moment; a request sees one of them throughout. */
  offer(): Offer;
  /** Hosts that links may lead to though they are not public, as the operator has them now. */
  allowedHosts(): readonly string[];
  /** Requests that wait for their task, so that a shutdown can end them. */
  readonly live: Set<Waiting>;
}

/** A request that waits. */
export interface Waiting {
  /** Stops waiting, for a reason that the client is told. */
  abort(reason: Error): void;
}

/** One request of a caller for something new. */
export interface MediaInput {
  readonly caller: Caller;
  readonly body: Handover<Uint8Array>;
  /** Where the body is held until the task has it. */
  readonly memory: MemoryShare;
  readonly headers: Headers;
  /** Ends when the client has gone. */
  readonly signal: AbortSignal;
  readonly record: RequestRecord;
}

/** What the client is sent: JSON, and what is said beside it. */
export interface MediaAnswer {
  readonly status: 200 | 202;
  readonly body: string;
  readonly warnings: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
}

/** How long a client that is still there waits for the end of what was given up: a little more than a run has for it. */
const END_MS = 5_000;

/**
 * The task once it has ended. When the client has gone, or the gateway is shutting down, it is given up: cancelled or
 * stopped. Whoever is still there waits for what that comes to, and is given what was made and charged all the same.
 */
export async function awaitTask(services: MediaServices, task: Task, signal: AbortSignal): Promise<Task> {
  const { tasks, live } = services;
  const controller = new AbortController();
  const waiting: Waiting = { abort: (reason) => controller.abort(reason) };
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

/** Whatever goes wrong here, the client is told why nobody waits any more; the task then ends by its deadline. */
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

/** What is noted of a request whose task has ended. */
export function noteEnd(record: RequestRecord, { state, failure, charge, provider }: Task): void {
  record.note({
    outcome: failure?.type ?? state,
    credit: creditsText(charge ?? 0n),
    ...(provider === null ? {} : { provider }),
  });
}

/** One request about a task that is there. */
export interface TaskAsked {
  readonly kind: TaskKind;
  readonly id: string;
  readonly caller: Caller;
  readonly record: RequestRecord;
  /** Where an answer that has files in it is held. */
  readonly memory: MemoryShare;
}

/** What ids can look like; the store is not asked for others. */
const TASK_ID = /^[a-z0-9_.]{1,80}$/;

/** The task of that id, and what is said of where it comes from. One of another kind or another account is a 404. */
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

/** Cancels a task that waits. Throws a 404 as `findTask` does, and a 409 once it has begun. */
export async function cancelTask(
  { tasks }: MediaServices,
  { kind, id, caller, record }: TaskAsked,
): Promise<void> {
  const cancelled = TASK_ID.test(id)
    ? await readStore(tasks.cancel(kind, id, caller.accountId))
    : "unknown_task";
  if (cancelled === "unknown_task") throw noTask();
  record.note({ task: id });
  if (cancelled === "started")
    throw new GatewayError(
      "conflict_error",
      "The task has begun, and only one that is pending can be cancelled. It runs to its end.",
    );
  if (cancelled === "ended")
    throw new GatewayError("conflict_error", "The task has ended, so there is nothing to cancel.");
}

/** The same for every id that is no task of the caller's. */
function noTask(): GatewayError {
  return new GatewayError("not_found_error", "There is no such task.");
}
