import { present } from "../../../core/json/json-value.ts";
import { wait } from "../../../core/time/clock.ts";
import { mayBeBegun, type TaskFailure } from "../../../core/task.ts";
import type { RequestTimeline } from "../../../ledger/commands.ts";
import type { MediaDone } from "../../../providers/media.ts";
import { type TaskJob, type TaskOutcome, TaskStop } from "../../../tasks/run/job.ts";
import { CLIENT_GONE } from "../../../tasks/run/run-end.ts";
import { attemptUntilTaken } from "./attempt.ts";
import { failureOf, noResult } from "./failure.ts";
import {
  callForPoll,
  type Job,
  type JobEnd,
  lateSignal,
  mayBeBegunOf,
  type MediaJobParts,
  openJob,
  partsOf,
  tell,
} from "./open-job.ts";
import { countOf, keepOutputs } from "./outputs.ts";
import { pollJob, pollNew } from "./poll.ts";
import { chargeFor, owedFor } from "./usage.ts";
import { grown, jittered } from "./waits.ts";

/** Most attempts to cancel a job at its provider, and the time limit of each. */
const CANCEL = { tries: 5, limitMs: 5_000 } as const;

/**
 * The job of images and videos, from where an earlier run left it. It runs at the provider that the task was claimed
 * for, or at the next of its routes where that provider surely took no work.
 */
export function createMediaJob(parts: MediaJobParts): TaskJob {
  return async (run) => {
    const job = openJob(parts, run);
    if (job === undefined) {
      const { kind, id, requestId, model, provider } = run;
      parts.log.error("a task has no provider any more, or its request cannot be read", {
        task: id,
        request_id: requestId,
        model,
        provider,
      });
      return { kind: "failed", failure: noResult(kind), unfinished: mayBeBegun(run) };
    }
    run.follow(() => timelineOf(job));
    try {
      return await doJob(job);
    } catch (error) {
      return afterThrow(job, error);
    } finally {
      job.memory.close();
    }
  };
}

async function doJob(job: Job): Promise<TaskOutcome> {
  const end = await followJob(job);
  const { parts, run, at, sentMs } = job;
  if (end.state === "done") {
    // A job that an earlier run began has no known start.
    if (sentMs !== undefined) parts.routing.health.made(at.key, parts.clock.steadyMs() - sentMs);
    return deliver(job, end);
  }
  return failed(job, failureOf(end, { run, secrets: at.provider.secrets }));
}

/**
 * Follows the job to its end: begins it where it has not begun, and polls it until it is done. Rejects with the reason
 * of the run's signal.
 */
async function followJob(job: Job): Promise<JobEnd> {
  const { progress } = job;
  if (progress.job !== null) return pollJob(job, progress.job);
  const begun = await attemptUntilTaken(job);
  return begun.state === "working" ? pollNew(job, begun) : begun;
}

/** Stores the outputs and computes what they cost. */
async function deliver(job: Job, { outputs, usage }: MediaDone): Promise<TaskOutcome> {
  const { parts, run, payload, memory, texts } = job;
  const { provider } = job.at;
  const onTrouble = (what: string, error?: unknown): void => tell(job, "warn", what, error);
  const ownHosts = URL.canParse(provider.baseUrl) ? [new URL(provider.baseUrl).host] : [];
  // The provider has done its part: on shutdown or disconnect, finish storing the result.
  const signal = lateSignal(job, ["shutdown", "client_gone"]);
  const { request, base64 } = payload;
  const asked = request.kind === "image" ? request.n : 1;
  const outputParts = { ...parts, run, asked, signal, texts, memory, ownHosts, onTrouble };
  const files = await keepOutputs(outputParts, outputs);
  if (files.length === 0) return failed(job, noResult(run.kind));
  const delivery = {
    model: job.model,
    request,
    snapshot: run.hold.snapshot,
    most: run.hold.amount,
    reported: usage,
    given: countOf(outputs),
    kept: files.length,
  };
  const charge = chargeFor(delivery);
  return {
    kind: "completed",
    result: {
      createdSec: Math.floor(parts.clock.nowMs() / 1_000),
      files,
      ...(charge.told === undefined ? {} : { usage: charge.told }),
      ...(base64 === true ? { base64 } : {}),
    },
    used: charge.used,
    usage: charge.usage,
    rates: charge.rates,
    flags: charge.flags,
    cost: owedFor(delivery, job.at.route.cost),
    timeline: timelineOf(job),
  };
}

function failed(job: Job, failure: TaskFailure): TaskOutcome {
  const begun = mayBeBegunOf(job);
  const of = partsOf(job.payload);
  const share = begun > 0 && begun < of ? { parts: begun, of } : undefined;
  return { kind: "failed", failure, unfinished: begun > 0, ...present({ share }) };
}

/** How a run ends that was stopped, or that met an unexpected error. */
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

/** Cancels the job at the provider in the background; the run does not wait for it. */
function cancelBehind(job: Job): void {
  const { at, parts, progress } = job;
  const { job: name } = progress;
  const { cancel } = at.adapter;
  if (name === null || cancel === undefined) return;
  const { signal } = new AbortController();
  // The run ends before this does.
  const aside = { ...job, memory: parts.memory.open() };
  const tryOften = async (): Promise<void> => {
    for (let tries = 1; ; tries += 1) {
      try {
        const call = callForPoll(aside, { limitMs: CANCEL.limitMs, signal });
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

function timelineOf({ parts, run, at, attempts, firstByteAtMs }: Job): RequestTimeline {
  return {
    provider: at.provider.id,
    admittedAtMs: run.hold.snapshot.pricedAtMs,
    heldAtMs: run.createdAtMs,
    firstByteAtMs,
    endedAtMs: parts.clock.nowMs(),
    attempts,
  };
}
