import { GatewayError } from "../../../core/errors.ts";
import type { MediaStep } from "../../../providers/media.ts";
import type { Working } from "./attempt.ts";
import { jobNote } from "./job-home.ts";
import {
  callForPoll,
  codeOf,
  type Job,
  type JobEnd,
  passStop,
  pause,
  tell,
  tellOperator,
} from "./open-job.ts";
import { grown, heededMs } from "./waits.ts";

/** Answers in a row that say that a job is unknown, before it is believed. */
const MOST_UNKNOWN = 3;

/** Refusals in a row for the operator's fault, through which a running job is followed. */
const MOST_LOCKED_OUT = 5;

/** Makes the provider's name for the job durable. */
async function noteName(job: Job, name: string): Promise<void> {
  job.progress.job = name;
  await job.run.noteJob(jobNote(name, job.at.provider, job.at.key.credential));
}

/** How many answers in a row were of a kind that has a limit. */
interface Patience {
  unknown: number;
  lockedOut: number;
  flaps: number;
}

/** Polls a job that was just begun. */
export async function pollNew(job: Job, begun: Working): Promise<JobEnd> {
  await noteName(job, begun.job);
  return pollJob(job, begun.job, askedDelay(begun) ?? pollDelay(0));
}

/** Polls the job of that name until its first end. Rejects with the reason of the run's signal. */
export async function pollJob(job: Job, first: string, firstMs = 0): Promise<JobEnd> {
  if (job.at.adapter.poll === undefined) return { state: "lost_track" };
  const patience: Patience = { unknown: 0, lockedOut: 0, flaps: 0 };
  let name = first;
  let pauseMs = firstMs;
  for (let polls = 1; ; polls += 1) {
    await pause(job, pauseMs);
    const step = await pollOnce(job, name);
    job.parts.failpoint("task.polled");
    const end = endOf(job, step, patience);
    if (end !== undefined) return end;
    if (step?.state === "working" && step.job !== name) {
      name = step.job;
      await noteName(job, name);
    }
    pauseMs = pauseAfter(step, polls, patience);
  }
}

/** The state of the job; `undefined` when the answer does not tell it, which is not the job's fault. */
async function pollOnce(job: Job, name: string): Promise<MediaStep | undefined> {
  try {
    return await job.at.adapter.poll?.(name, callForPoll(job));
  } catch (error) {
    passStop(job, error);
    if (!(error instanceof GatewayError)) throw error;
    tell(job, "warn", "the job could not be asked after", error);
    return undefined;
  }
}

/** The end of the job, where this answer is one. */
function endOf(job: Job, step: MediaStep | undefined, patience: Patience): JobEnd | undefined {
  const { progress } = job;
  if (step === undefined) {
    patience.flaps += 1;
    return undefined;
  }
  switch (step.state) {
    case "done":
      return step;
    case "working":
      Object.assign(patience, { unknown: 0, lockedOut: 0, flaps: 0 });
      return undefined;
    case "unknown_job":
      patience.unknown += 1;
      tell(job, "warn", "the provider does not know the job");
      return patience.unknown < MOST_UNKNOWN ? undefined : { state: "lost_track" };
    case "refused":
  }
  const { refusal } = step;
  switch (refusal.reason) {
    case "busy":
    case "beyond_limit":
    case "unclear":
      patience.flaps += 1;
      tell(job, "warn", "the job could not be asked after", codeOf(refusal));
      return undefined;
    case "operator_fault":
      patience.lockedOut += 1;
      tellOperator(job, codeOf(refusal));
      return patience.lockedOut < MOST_LOCKED_OUT ? undefined : step;
    default:
      progress.begun = 0;
      return step;
  }
}

/** From two seconds to fifteen. */
function pollDelay(polls: number): number {
  return Math.min(15_000, 2_000 * 1.5 ** Math.min(polls, 10));
}

/** The provider's wish for the next poll, a minute at most. */
function askedDelay({ pollAfterMs = Number.NaN }: Working): number | undefined {
  return Number.isNaN(pollAfterMs) ? undefined : Math.min(60_000, Math.max(100, pollAfterMs));
}

function pauseAfter(step: MediaStep | undefined, polls: number, patience: Patience): number {
  const askedMs = step?.state === "working" ? askedDelay(step) : undefined;
  if (askedMs !== undefined) return askedMs;
  if (step?.state === "refused" && step.refusal.retryAfterMs !== undefined)
    return heededMs(step.refusal.retryAfterMs);
  return Math.max(pollDelay(polls), grown(2_000, patience.flaps, 15_000));
}
