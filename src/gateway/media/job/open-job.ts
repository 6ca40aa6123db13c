import type { Assets } from "../../../assets/assets.ts";
import { type ByteAccount, type ByteBudget, openPart } from "../../../core/bytes/byte-budget.ts";
import { type Clock, wait } from "../../../core/time/clock.ts";
import type { Failpoint } from "../../../core/failpoint.ts";
import { describeError, type Log, type LogFields } from "../../../core/log/log.ts";
import type { Model } from "../../../core/model.ts";
import type { Random } from "../../../core/random.ts";
import type { TaskKind } from "../../../core/task.ts";
import type { Attempt } from "../../../ledger/commands.ts";
import type { BegunParts, MediaCall, MediaDone, MediaRefusal } from "../../../providers/media.ts";
import type { MediaProvider } from "../../../providers/provider.ts";
import type { GridCutter } from "../../../runtime/images/grid-cutter.ts";
import { checksum } from "../../../runtime/hash.ts";
import { type TaskRun, TaskStop } from "../../../tasks/run/job.ts";
import type { GuardedFetch } from "../../fetch/guarded-fetch.ts";
import type { Offer } from "../../offer.ts";
import type { Health } from "../../routing/health.ts";
import type { Routing } from "../../routing/routing.ts";
import { openMediaCall } from "./call.ts";
import { loadInput } from "./input.ts";
import { homeOf } from "./job-home.ts";
import type { Timeouts } from "../../timeouts.ts";
import { createLongTexts, type LongTexts } from "./long-texts.ts";
import type { MediaModel } from "../admit/model.ts";
import { inOrder, taskRoutes } from "../provider.ts";
import { type MediaPayload, readMediaPayload } from "./payload.ts";
import { type JobRoute, routesOfRun } from "./route.ts";
import { jittered } from "./waits.ts";

/** What jobs are done with. */
export interface MediaJobParts {
  /** The models and providers of this moment; a run sees one version of them throughout. */
  readonly offer: () => Offer;
  /** How many tasks the provider may run at a time. */
  readonly limitOf: (provider: MediaProvider) => number;
  /** Orders the routes, and knows how they fare by the calls of this process. */
  readonly routing: Pick<Routing, "order"> & { readonly health: Pick<Health, "admit" | "made"> };
  readonly assets: Pick<Assets, "store">;
  readonly fetch: GuardedFetch;
  /** The time limits of this moment. */
  readonly timeouts: () => Pick<Timeouts, TaskKind>;
  /** What all runs of this process may hold whole in memory. */
  readonly memory: ByteBudget;
  readonly cutGrid: GridCutter["cut"];
  readonly clock: Clock;
  readonly random: Random;
  readonly failpoint: Failpoint;
  readonly log: Log;
}

/** One run of a task, with everything that its job needs. */
export interface Job {
  readonly parts: MediaJobParts;
  readonly run: TaskRun;
  readonly payload: MediaPayload;
  readonly model: MediaModel;
  /** Routes that the task can be tried at, in that order, as long as no provider may have begun it. */
  readonly routes: readonly JobRoute[];
  /** Where the task is. */
  at: JobRoute;
  readonly progress: JobProgress;
  /** The attempts of this run, for the request's row. */
  readonly attempts: Attempt[];
  /** What the calls of the present attempt were answered: a task may have several. */
  answers: AttemptAnswers;
  readonly memory: ByteAccount;
  /** The part of it that holds the inputs of the present attempt: the next one loads them anew. */
  inputs: ByteAccount;
  readonly texts: LongTexts;
  firstByteAtMs: number | null;
  /** When the last attempt of this run began, by the steady clock. */
  sentMs: number | undefined;
}

/** Statuses of an attempt's calls, in the order of their answers. */
export interface AttemptAnswers {
  readonly statuses: number[];
  /** Of a call without a whole answer, by its error: null where no head had come. */
  readonly ofBroken: Map<unknown, number | null>;
  /** The parts of the task that its calls have begun; absent: the adapter does not count them. */
  begun?: BegunParts;
}

/** The progress of a job; read when the run ends. */
export interface JobProgress {
  job: string | null;
  /** How often a run was about to send the task to the provider, */
  attempts: number;
  /** and how often of these the provider surely did not take it. */
  refusals: number;
  /** How many of the task's parts the present provider surely has begun: those whose end it can tell, */
  begun: number;
  /** and how many others may have begun, at an attempt that brought no word of them. */
  inDoubt: number;
}

/** How the job at the provider ended. */
export type JobEnd =
  | MediaDone
  | { readonly state: "refused"; readonly refusal: MediaRefusal }
  /** The provider took no work until the deadline. */
  | { readonly state: "overloaded" }
  /** The provider did not answer in time, and may have begun. */
  | { readonly state: "silent" }
  /** Whether the provider has the job is unknown. */
  | { readonly state: "lost_track" };

/** Time limit of a request to a provider that is no attempt, in milliseconds. */
const POLL_MS = 30_000;

/**
 * How long a stopping run still waits for the name of a job, or for a result that comes in the attempt's own answer.
 * Without it the outcome would be unknown. Shorter than the time that a run has for its end.
 */
const GRACE_MS = 2_500;

/** `undefined` where no provider does the task any more, or its request cannot be read. */
export function openJob(parts: MediaJobParts, run: TaskRun): Job | undefined {
  const payload = readMediaPayload(run.payload);
  const offer = parts.offer();
  const isOfRun = (found: Model): found is MediaModel =>
    found.category === run.kind && found.media !== undefined;
  const model = offer.catalog.byId(run.model).find(isOfRun);
  if (payload === undefined || model === undefined) return undefined;
  const { kind, by, hold } = run;
  // Drawn by its id, so that every run of the task goes round the same way.
  const task = { ...run, terms: { ...hold.snapshot, by }, drawKey: checksum(run.id) };
  const found = taskRoutes(offer, kind, run.model);
  const routes = routesOfRun(run, payload, found, (each) => inOrder(parts.routing, offer, task, each));
  if (routes === undefined) return undefined;
  const { job, provider } = homeOf(run.job, routes.at.provider);
  const progress = {
    job,
    attempts: run.attempts,
    refusals: run.refusals,
    // What earlier runs knew of parts is not written down: each attempt that was not refused may have begun all.
    begun: job === null ? 0 : partsOf(payload),
    inDoubt: run.attempts - run.refusals > (job === null ? 0 : 1) ? partsOf(payload) : 0,
  };
  const memory = parts.memory.open();
  return {
    parts,
    run,
    payload,
    model,
    routes: routes.routes,
    at: job === null ? routes.at : { ...routes.at, provider },
    progress,
    attempts: [],
    answers: { statuses: [], ofBroken: new Map() },
    memory,
    inputs: openPart(memory),
    texts: createLongTexts(),
    firstByteAtMs: null,
    sentMs: undefined,
  };
}

/** The parts that a task has: a provider may be sent each by itself. */
export function partsOf({ request }: MediaPayload): number {
  return request.kind === "image" ? request.n : 1;
}

/** The parts of the task that any provider has begun, or may have. Each attempt in doubt may have begun other parts. */
export function mayBeBegunOf({ progress, payload }: Job): number {
  return Math.min(partsOf(payload), progress.begun + progress.inDoubt);
}

/** Opens the call of an attempt. It holds its inputs until it has ended, and the request's row names it. */
export function callForAttempt(job: Job): MediaCall {
  const { parts, memory } = job;
  const { provider, upstreamId, adapter } = job.at;
  const place = job.attempts.length;
  const sent = { provider: provider.id, upstream_id: upstreamId, sent_at_ms: parts.clock.nowMs() };
  job.attempts.push({ ...sent, status: null });
  const answers: Job["answers"] = { statuses: [], ofBroken: new Map() };
  job.answers = answers;
  job.inputs = openPart(memory);
  // Stops that still let an attempt learn the name of the job that it begins; all of it where there is none.
  const signal = lateSignal(
    job,
    adapter.poll === undefined ? ["shutdown"] : ["shutdown", "client_gone", "deadline"],
  );
  return openCall(job, {
    limitMs: parts.timeouts()[job.run.kind].plainMs,
    signal,
    inputs: job.inputs,
    onAnswer(status) {
      answers.statuses.push(status);
      job.attempts[place] = { ...sent, status };
    },
    onBreak: (error, status) => void answers.ofBroken.set(error, status),
    onBegun: (parts) => void (answers.begun = parts),
  });
}

/** Writes the status that decided into the row of the present attempt, which has the last one until then. */
export function noteStatus({ attempts }: Job, status: number | null): void {
  const last = attempts.pop();
  if (last !== undefined) attempts.push({ ...last, status });
}

/** Opens any other call about the last attempt. */
export function callForPoll(job: Job, terms: { limitMs?: number; signal?: AbortSignal } = {}): MediaCall {
  const { limitMs = POLL_MS, signal = job.run.signal } = terms;
  return openCall(job, { limitMs, signal, inputs: job.memory, onAnswer() {}, onBreak() {}, onBegun() {} });
}

interface CallTerms {
  readonly limitMs: number;
  readonly signal: AbortSignal;
  readonly inputs: ByteAccount;
  readonly onAnswer: (status: number) => void;
  readonly onBreak: (error: unknown, status: number | null) => void;
  readonly onBegun: (parts: BegunParts) => void;
}

function openCall(job: Job, { limitMs, signal, inputs, onAnswer, onBreak, onBegun }: CallTerms): MediaCall {
  const { parts, run, payload, memory, texts, progress } = job;
  const { provider, upstreamId } = job.at;
  const { clock, fetch } = parts;
  const { connectMs, writeMs } = parts.timeouts()[run.kind];
  return openMediaCall(
    {
      paidBy: run.hold,
      provider,
      upstreamId,
      model: run.model,
      clientHeaders: payload.clientHeaders,
      load: (input, kind, stop) => loadInput(input, kind, { fetch, memory: inputs, signal: stop }),
      memory,
      texts,
      limits: { clock, connectMs, writeMs },
      onAnswer(status) {
        job.firstByteAtMs ??= clock.nowMs();
        onAnswer(status);
      },
      onBreak,
      onBegun,
    },
    { reference: `${run.id}.${progress.attempts}`, limitMs, signal },
  );
}

/** A signal that follows the run's: a while later for one of these reasons, at once for the others. */
export function lateSignal({ run, parts }: Job, reasons: readonly TaskStop["reason"][]): AbortSignal {
  const late = new AbortController();
  const onStop = (): void => {
    const reason: unknown = run.signal.reason;
    const isWanted = reason instanceof TaskStop && reasons.includes(reason.reason);
    if (isWanted) parts.clock.setTimer(GRACE_MS, () => late.abort(reason));
    else late.abort(reason);
  };
  if (run.signal.aborted) onStop();
  else run.signal.addEventListener("abort", onStop, { once: true });
  return late.signal;
}

/** One log line about the provider. Its words are redacted, and go to the log alone. */
export function tell(
  { parts, run, at }: Job,
  level: "warn" | "error",
  what: string,
  error?: unknown,
  more: LogFields = {},
): void {
  parts.log[level](what, {
    task: run.id,
    request_id: run.requestId,
    account_id: run.accountId,
    model: run.model,
    provider: at.provider.id,
    ...(error === undefined ? {} : { upstream_error: describeError(error) }),
    ...more,
  });
}

/** Logs an alarm for a refusal that only the operator can mend, by its code. */
export function tellOperator(job: Job, code: string): void {
  tell(job, "error", "the provider refused the gateway itself", code, { operator_fault: true });
}

/** The parts of a refusal that may be logged. */
export function codeOf({ reason, code }: MediaRefusal): string {
  return code ?? reason;
}

/** Rethrows the errors that end the run, and no other. */
export function passStop({ run }: Job, error: unknown): void {
  if (error instanceof TaskStop) throw error;
  run.signal.throwIfAborted();
}

/** Waits, up to a quarter longer by chance. Rejects with the reason of the run's signal. */
export function pause({ parts, run }: Job, delayMs: number): Promise<void> {
  run.signal.throwIfAborted();
  return delayMs === 0 ? Promise.resolve() : wait(parts.clock, jittered(delayMs, parts.random), run.signal);
}
