import type { Assets } from "../../assets/assets.ts";
import { type ByteAccount, type ByteBudget, openPart } from "../../core/byte-budget.ts";
import { type Clock, wait } from "../../core/clock.ts";
import type { Failpoint } from "../../core/failpoint.ts";
import { describeError, type Log } from "../../core/log.ts";
import type { Model } from "../../core/model.ts";
import type { Random } from "../../core/random.ts";
import { mayBeBegun, type TaskFailure } from "../../core/task.ts";
import { upstreamIdFor } from "../../core/upstream-id.ts";
import type { Attempt, RequestTimeline } from "../../ledger/commands.ts";
import type { MediaCall, MediaDone } from "../../providers/media.ts";
import type { MediaProvider } from "../../providers/provider.ts";
import type { GridCutter } from "../../runtime/images/grid-cutter.ts";
import { CLIENT_GONE } from "../../tasks/run-end.ts";
import { type TaskOutcome, type TaskRun, type TaskRunner, TaskStop } from "../../tasks/runner.ts";
import type { Offer } from "../offer.ts";
import type { GuardedFetch } from "../fetch/guarded-fetch.ts";
import { openMediaCall } from "./call.ts";
import { bindAdapter, type BoundAdapter, type Course, type CourseProgress, followCourse } from "./course.ts";
import { failureOf, noResult } from "./failure.ts";
import { loadInput } from "./input.ts";
import { homeOf, jobNote } from "./job-home.ts";
import { createLongTexts, type LongTexts } from "./long-texts.ts";
import type { MediaModel } from "./model.ts";
import { countOf, keepOutputs } from "./outputs.ts";
import { type MediaPayload, readMediaPayload } from "./payload.ts";
import { chargeFor } from "./usage.ts";
import { grown, jittered } from "./waits.ts";

/** What the work of tasks is done with. */
export interface MediaRunnerParts {
  /** The models and providers of this moment; a run sees one of them throughout. */
  readonly offer: () => Offer;
  readonly assets: Pick<Assets, "store">;
  readonly fetch: GuardedFetch;
  /** What all runs of this process may hold whole in memory. */
  readonly memory: ByteBudget;
  readonly cutGrid: GridCutter["cut"];
  readonly clock: Clock;
  readonly random: Random;
  readonly failpoint: Failpoint;
  readonly log: Log;
}

/** How long one request to a provider may take: one that begins the work, which may do it all; any other. */
const LIMIT_MS = { begin: 300_000, ask: 30_000 } as const;

/**
 * How long a run that is to stop still waits for the name of a job, or for a result that was sent once: without it
 * nobody could tell what became of the work. Shorter than what the engine leaves a run for its end.
 */
const GRACE_MS = 2_500;

/** A provider that is told to stop is told so at most this often, and has this long each time. */
const CANCEL = { tries: 5, limitMs: 5_000 } as const;

/** The work of images and videos: at the provider that the task was claimed for, from wherever an earlier run left it. */
export function createMediaRunner(parts: MediaRunnerParts): TaskRunner {
  return async (run) => {
    const job = openJob(parts, run);
    if (job === undefined) {
      const { kind, id, requestId, model, provider } = run;
      parts.log.error("a task has nobody to do it any more", {
        task: id,
        request_id: requestId,
        model,
        provider,
      });
      return { kind: "failed", failure: noResult(kind), unfinished: mayBeBegun(run) };
    }
    try {
      return await work(job);
    } catch (error) {
      return afterThrow(job, error);
    } finally {
      job.memory.close();
    }
  };
}

/** What all runs are done with. */

/** One run with all that it is done with. */
interface Job {
  readonly parts: MediaRunnerParts;
  readonly run: TaskRun;
  readonly payload: MediaPayload;
  readonly model: MediaModel;
  readonly provider: MediaProvider;
  readonly upstreamId: string;
  readonly adapter: BoundAdapter;
  readonly progress: CourseProgress;
  readonly attempts: Attempt[];
  readonly memory: ByteAccount;
  /** The part of it that the inputs of the present attempt are held on: the next one loads them anew. */
  inputs: ByteAccount;
  readonly texts: LongTexts;
  firstByteAtMs: number | null;
}

function openJob(parts: MediaRunnerParts, run: TaskRun): Job | undefined {
  const payload = readMediaPayload(run.payload);
  const offer = parts.offer();
  const isOfRun = (found: Model): found is MediaModel =>
    found.category === run.kind && found.media !== undefined;
  const model = offer.catalog.byId(run.model).find(isOfRun);
  const route = model?.routes.find((found) => found.provider === run.provider);
  const offered = offer.mediaProviders.get(run.provider);
  if (payload === undefined || model === undefined || route === undefined || offered === undefined)
    return undefined;
  const { job, provider } = homeOf(run.job, offered);
  const upstreamId = upstreamIdFor(route.upstreamId, payload.request);
  const adapter = adapterFor(provider, payload);
  if (adapter === undefined) return undefined;
  const progress = {
    job,
    attempts: run.attempts,
    refusals: run.refusals,
    mayBeAtWork: mayBeBegun(run) || job !== null,
  };
  const memory = parts.memory.open();
  return {
    parts,
    run,
    payload,
    model,
    provider,
    upstreamId,
    adapter,
    progress,
    attempts: [],
    memory,
    inputs: openPart(memory),
    texts: createLongTexts(),
    firstByteAtMs: null,
  };
}

function adapterFor({ adapters }: MediaProvider, { request }: MediaPayload): BoundAdapter | undefined {
  switch (request.kind) {
    case "image":
      return adapters.image === undefined ? undefined : bindAdapter(adapters.image, request);
    case "video":
      return adapters.video === undefined ? undefined : bindAdapter(adapters.video, request);
  }
}

async function work(job: Job): Promise<TaskOutcome> {
  const { run, provider } = job;
  const end = await followCourse(courseOf(job));
  if (end.state === "done") return deliver(job, end);
  return failed(job, failureOf(end, { run, secrets: provider.secrets }));
}

function courseOf(job: Job): Course {
  const { parts, run, provider, adapter, progress } = job;
  return {
    run,
    adapter: {
      ...adapter,
      create: (call) => adapter.create(call).finally(() => job.inputs.close()),
    },
    callFor: (attempt, stage) =>
      callFor(job, attempt, { limitMs: LIMIT_MS[stage], isAttempt: stage === "begin" }),
    clock: parts.clock,
    random: parts.random,
    failpoint: parts.failpoint,
    onTrouble: (what, error) => tell(job, "warn", what, error),
    onOperatorFault: (said) => tell(job, "error", "the provider refused the gateway itself", said),
    noteJob: (name) => run.noteJob(jobNote(name, provider)),
    progress,
  };
}

interface CallKind {
  readonly limitMs: number;
  /** Whether it sends the task itself, which is told of in the request's row. */
  readonly isAttempt: boolean;
  /** Absent: the run's own. */
  readonly signal?: AbortSignal;
}

function callFor(job: Job, attempt: number, { limitMs, isAttempt, signal }: CallKind): MediaCall {
  const { parts, run, payload, provider, upstreamId, memory, texts } = job;
  const { clock } = parts;
  const at = job.attempts.length;
  if (isAttempt) {
    job.attempts.push({
      provider: provider.id,
      upstream_id: upstreamId,
      sent_at_ms: clock.nowMs(),
      status: null,
    });
    job.inputs = openPart(memory);
  }
  const inputs = isAttempt ? job.inputs : memory;
  return openMediaCall(
    {
      paidBy: run.hold,
      provider,
      upstreamId,
      model: run.model,
      clientHeaders: payload.clientHeaders,
      load: (input, kind, stop) =>
        loadInput(input, kind, { fetch: parts.fetch, memory: inputs, signal: stop }),
      memory,
      texts,
      clock,
      onAnswer(status) {
        job.firstByteAtMs ??= clock.nowMs();
        const sent = isAttempt ? job.attempts[at] : undefined;
        if (sent !== undefined) job.attempts[at] = { ...sent, status };
      },
    },
    {
      reference: `${run.id}.${attempt}`,
      limitMs,
      signal: signal ?? (isAttempt ? lateSignal(job, mayStillBeginFor(job)) : run.signal),
    },
  );
}

/** What a run may be stopped for and still learn the name of the job that it is beginning; all of it where there is none. */
function mayStillBeginFor({ adapter }: Job): readonly TaskStop["reason"][] {
  return adapter.poll === undefined ? ["shutdown"] : ["shutdown", "client_gone", "deadline"];
}

/**
 * Ends what should not be lost a while after the run is told to stop for one of these reasons, and at once where nothing
 * could come of it.
 */
function lateSignal({ run, parts }: Job, reasons: readonly TaskStop["reason"][]): AbortSignal {
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

/** Takes the outputs over and says what they cost. */
async function deliver(job: Job, { outputs, usage }: MediaDone): Promise<TaskOutcome> {
  const { parts, run, payload, provider, memory, texts } = job;
  const { clock, random, failpoint, assets, fetch, cutGrid } = parts;
  const onTrouble = (what: string, error?: unknown): void => tell(job, "warn", what, error);
  const ownHosts = URL.canParse(provider.baseUrl) ? [new URL(provider.baseUrl).host] : [];
  // The provider has done its part: whoever is still there is given it, and whoever has gone would have been.
  const signal = lateSignal(job, ["shutdown", "client_gone"]);
  const { request, base64 } = payload;
  const asked = request.kind === "image" ? request.n : 1;
  const files = await keepOutputs(
    {
      run,
      asked,
      signal,
      assets,
      fetch,
      texts,
      memory,
      cutGrid,
      ownHosts,
      clock,
      random,
      failpoint,
      onTrouble,
    },
    outputs,
  );
  if (files.length === 0) {
    // The provider has worked, and counts it.
    job.progress.mayBeAtWork = true;
    return failed(job, noResult(run.kind));
  }
  const { snapshot } = run.hold;
  const charge = chargeFor({
    model: job.model,
    request,
    snapshot,
    most: run.hold.amount,
    reported: usage,
    given: countOf(outputs),
    kept: files.length,
  });
  return {
    kind: "completed",
    result: {
      createdSec: Math.floor(clock.nowMs() / 1_000),
      files,
      ...(charge.told === undefined ? {} : { usage: charge.told }),
      ...(base64 === true ? { base64 } : {}),
    },
    used: charge.used,
    usage: charge.usage,
    flags: charge.flags,
    timeline: timelineOf(job),
  };
}

function failed(job: Job, failure: TaskFailure): TaskOutcome {
  return { kind: "failed", failure, unfinished: job.progress.mayBeAtWork, timeline: timelineOf(job) };
}

/** How a run ends that was stopped, or in which something went wrong that nobody foresaw. */
function afterThrow(job: Job, error: unknown): TaskOutcome {
  const { run } = job;
  const stop: unknown = error instanceof TaskStop ? error : run.signal.reason;
  if (!(stop instanceof TaskStop)) {
    tell(job, "error", "a task went wrong within the gateway", error);
    return failed(job, noResult(run.kind));
  }
  switch (stop.reason) {
    case "lost":
    case "shutdown":
      return { kind: "released" };
    case "deadline":
      cancelBehind(job);
      return failed(job, {
        type: "timeout_error",
        message: `The ${run.kind} was not made within the timeout.`,
      });
    case "client_gone":
      cancelBehind(job);
      return failed(job, {
        type: "generation_error",
        message: CLIENT_GONE,
      });
  }
}

/** Tells the provider to stop, behind the back of the run, which does not wait for it. */
function cancelBehind(job: Job): void {
  const { adapter, parts, progress } = job;
  const { job: name, attempts } = progress;
  const { cancel } = adapter;
  if (name === null || cancel === undefined) return;
  const { signal } = new AbortController();
  // The run has an end before this has.
  const aside = { ...job, memory: parts.memory.open() };
  const tryOften = async (): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const call = callFor(aside, attempts, { limitMs: CANCEL.limitMs, isAttempt: false, signal });
        if (await cancel(name, call)) return;
        tell(job, "warn", "the provider could not be told to stop");
      } catch (error) {
        tell(job, "warn", "the provider could not be told to stop", error);
      }
      if (tries === CANCEL.tries) return;
      await wait(parts.clock, jittered(grown(1_000, tries - 1, 10_000), parts.random), signal);
    }
  };
  void tryOften().finally(() => aside.memory.close());
}

function timelineOf({ parts, run, provider, attempts, firstByteAtMs }: Job): RequestTimeline {
  return {
    provider: provider.id,
    admittedAtMs: run.hold.snapshot.pricedAtMs,
    heldAtMs: run.createdAtMs,
    firstByteAtMs,
    endedAtMs: parts.clock.nowMs(),
    attempts,
  };
}

/** One line of what happened at the provider. What it said is redacted, and goes to the log alone. */
function tell({ parts, run, provider }: Job, level: "warn" | "error", what: string, error?: unknown): void {
  // An alarm: a refusal that only the operator can mend.
  const operatorFault = level === "error" && typeof error === "string";
  parts.log[level](what, {
    task: run.id,
    request_id: run.requestId,
    account_id: run.accountId,
    model: run.model,
    provider: provider.id,
    ...(error === undefined ? {} : { upstream_error: describeError(error) }),
    ...(operatorFault ? { operator_fault: true } : {}),
  });
}
