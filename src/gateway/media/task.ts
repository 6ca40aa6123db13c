import type { Assets } from "../../assets/assets.ts";
import type { Caller } from "../../core/caller.ts";
import type { Clock } from "../../core/clock.ts";
import { creditsText } from "../../core/credits.ts";
import { GatewayError, toGatewayError, withHeaders } from "../../core/errors.ts";
import type { Model } from "../../core/model.ts";
import type { Task, TaskKind } from "../../core/task.ts";
import type { Limiter, UsedTokens } from "../../limits/limiter.ts";
import { chatCompletions } from "../../protocols/chat-completions/index.ts";
import type { Tasks } from "../../tasks/tasks.ts";
import type { TaskAdmission } from "./admit.ts";
import type { Offer } from "../offer.ts";
import { holdRefusalError } from "../hold-refusal.ts";
import { passKeyLimits } from "../key-limits.ts";
import type { RequestRecord } from "../request-record.ts";
import { readStore } from "../store-read.ts";
import { taskProvider } from "./provider.ts";

/** What the use cases of pictures and films need. */
export interface MediaServices {
  readonly tasks: Tasks;
  readonly assets: Assets;
  readonly limiter: Limiter;
  readonly clock: Clock;
  /** The models and providers of this moment; a request sees one of them throughout. */
  offer(): Offer;
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
  readonly body: Uint8Array;
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

/** A request that nothing speaks against but its key's limits and what it costs. */
export interface AdmittedTask {
  readonly kind: TaskKind;
  readonly admission: TaskAdmission;
  /** What it was admitted by. */
  readonly offer: Offer;
  /** Whether the client asked for the bytes of the result themselves; absent is no. */
  readonly base64?: boolean;
  /** Whether the request waits for the task's end; absent is no. */
  readonly awaited?: boolean;
}

/** What is told of a task that was submitted. */
export interface SubmittedAnswer {
  readonly status: 200 | 202;
  readonly body: string;
  /** The task as it was told of. */
  readonly task: Task;
}

const NO_TOKENS: UsedTokens = { input: 0, output: 0 };

/** How long a client is told to wait where nobody knows how long it takes. */
const BUSY_SEC = 10;

/** What differs between the kinds: what a key's limits refuse with, what costs less, what too many waiting tasks are. */
const KINDS = {
  image: {
    limitedAs: "rate_limit_error",
    less: "fewer or smaller pictures",
    tooMany: (message: string) => new GatewayError("rate_limit_error", message, { retryAfterSec: BUSY_SEC }),
  },
  video: {
    // The interface lists no 429 for films.
    limitedAs: "overloaded_error",
    less: "a shorter or smaller film",
    tooMany: (message: string) => new GatewayError("invalid_request_error", message),
  },
} as const;

/**
 * Passes the limits of the caller's key, sets credit aside and queues the task, and gives what `answer` makes of it. The
 * request counts as under way for its key until `answer` has resolved.
 */
export async function submitTask(
  services: MediaServices,
  input: MediaInput,
  admitted: AdmittedTask,
  answer: (task: Task) => Promise<SubmittedAnswer>,
): Promise<MediaAnswer> {
  const { caller, record } = input;
  const { kind, admission, offer } = admitted;
  const { model, warnings } = admission;
  record.note({ model: model.id });
  const told = askProvider(admitted, input.headers);
  const limited = passKeyLimits(
    services,
    { caller, record, format: chatCompletions, refusedAs: KINDS[kind].limitedAs },
    NO_TOKENS,
  );
  const headers = (provider?: string | null): Readonly<Record<string, string>> => ({
    ...limited?.headers(),
    ...providerHeaders(offer, kind, model.id, provider),
  });
  try {
    const { status, body, task } = await answer(await queue(services, input, admitted, told));
    limited?.pass.end(usedTokens(task));
    return { status, body, warnings, headers: headers(task.provider) };
  } catch (error) {
    limited?.pass.end(NO_TOKENS);
    throw withHeaders(toGatewayError(error), headers());
  }
}

async function queue(
  { tasks }: MediaServices,
  { caller, record }: MediaInput,
  { kind, admission, base64, awaited = false }: AdmittedTask,
  { clientHeaders, minPendingMs }: Told,
): Promise<Task> {
  const { model, request, warnings, snapshot, amount, expectedCost, timeoutSec } = admission;
  const task = await tasks.submit({
    kind,
    accountId: caller.accountId,
    keyId: caller.keyId,
    requestId: record.requestId,
    model,
    snapshot,
    amount,
    expectedCost,
    payload: { request, clientHeaders, ...(base64 === true ? { base64 } : {}) },
    warnings,
    timeoutSec,
    ...(minPendingMs === undefined ? {} : { minPendingMs }),
    awaited,
  });
  if (typeof task !== "string") {
    record.note({ task: task.id });
    return task;
  }
  const { less, tooMany } = KINDS[kind];
  if (task !== "too_many_pending") throw holdRefusalError(task, less);
  throw tooMany(
    "The account has as many tasks waiting as it may have. Wait until some of them have begun, or cancel some.",
  );
}

/** What providers are told of a request beside itself, and how long its task is to stay pending at least. */
interface Told {
  readonly clientHeaders: Readonly<Record<string, string>>;
  readonly minPendingMs: number | undefined;
}

/** Lets the provider that is asked first look at the client's headers. Throws what it does not take of them. */
function askProvider({ kind, admission: { model }, offer }: AdmittedTask, headers: Headers): Told {
  const clientHeaders = toldHeaders(offer, model, headers);
  const provider = taskProvider(offer, kind, model.id)?.provider;
  const { pendingMs = provider?.minPendingMs } = provider?.admit?.(kind, clientHeaders) ?? {};
  return { clientHeaders, minPendingMs: pendingMs };
}

/** The client's own headers that a provider of the model is to be told: which of them it will be is not known yet. */
function toldHeaders({ mediaProviders }: Offer, model: Model, headers: Headers): Record<string, string> {
  const told: Record<string, string> = {};
  for (const { provider } of model.routes) {
    for (const name of mediaProviders.get(provider)?.clientHeaders ?? []) {
      const value = headers.get(name);
      if (value !== null) told[name] = value;
    }
  }
  return told;
}

/** Headers that say where a task's result comes from: from who works on it, else from who is asked first. */
function providerHeaders(
  offer: Offer,
  kind: TaskKind,
  model: string,
  provider: string | null = null,
): Readonly<Record<string, string>> {
  const name = provider ?? taskProvider(offer, kind, model)?.name;
  return (name === undefined ? undefined : offer.mediaProviders.get(name)?.answerHeaders) ?? {};
}

function usedTokens({ result }: Task): UsedTokens {
  const usage = result?.usage;
  return usage === undefined ? NO_TOKENS : { input: usage.inputTokens, output: usage.outputTokens };
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
  const cancelled = TASK_ID.test(id) ? await tasks.cancel(kind, id, caller.accountId) : "unknown_task";
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
