import { type Clock, wait } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Failpoint } from "../../core/failpoint.ts";
import { describeError } from "../../core/log.ts";
import type { MediaRequest } from "../../core/media.ts";
import type { Random } from "../../core/random.ts";
import type { MediaAdapter, MediaCall, MediaDone, MediaRefusal, MediaStep } from "../../providers/media.ts";
import { callFault } from "../../providers/upstream.ts";
import { type TaskRun, TaskStop } from "../../tasks/runner.ts";
import { grown, heededMs, jittered } from "./waits.ts";

/** An adapter with the request that it is to do. */
export interface BoundAdapter {
  create(call: MediaCall): Promise<MediaStep>;
  poll?(job: string, call: MediaCall): Promise<MediaStep>;
  cancel?(job: string, call: MediaCall): Promise<boolean>;
  find?(call: MediaCall): Promise<string | undefined>;
}

/** Ties an adapter to a request. */
export function bindAdapter<R extends MediaRequest>(adapter: MediaAdapter<R>, request: R): BoundAdapter {
  const { poll, cancel, find } = adapter;
  return {
    create: (call) => adapter.create(request, call),
    ...(poll === undefined ? {} : { poll: (job, call) => poll.call(adapter, job, request, call) }),
    ...(cancel === undefined ? {} : { cancel: (job, call) => cancel.call(adapter, job, call) }),
    ...(find === undefined ? {} : { find: (call) => find.call(adapter, call) }),
  };
}

/** What one run of a task is followed with. */
export interface Course {
  readonly run: TaskRun;
  readonly adapter: BoundAdapter;
  /** Opens the calls of one attempt. Beginning the work may take long, anything else may not. */
  readonly callFor: (attempt: number, stage: "begin" | "ask") => MediaCall;
  readonly clock: Clock;
  readonly random: Random;
  readonly failpoint: Failpoint;
  /** Told what went wrong and is borne with. */
  readonly onTrouble: (what: string, error?: unknown) => void;
  /** Told of a refusal that only the operator can mend. */
  readonly onOperatorFault: (said: string) => void;
  /** Makes durable what the provider calls the work. */
  readonly noteJob: (job: string) => Promise<void>;
  readonly progress: CourseProgress;
}

/** What is known of a job so far; read by whoever ends the run in its midst. */
export interface CourseProgress {
  job: string | null;
  /** How often the provider was about to be sent the task, */
  attempts: number;
  /** and how often of these it did not take it for sure. */
  refusals: number;
  /** Whether the provider has the work, or may have it. */
  mayBeAtWork: boolean;
}

/** How the work at the provider ended. */
export type CourseEnd =
  | MediaDone
  | { readonly state: "refused"; readonly refusal: MediaRefusal }
  /** It took no work until the deadline. */
  | { readonly state: "overloaded" }
  /** It did not answer in time, and may have begun. */
  | { readonly state: "silent" }
  /** Nobody knows what became of it. */
  | { readonly state: "lost_track" };

/** Sends in doubt: the first, and one more where the provider cannot be asked what became of it. */
const MOST_IN_DOUBT = 2;

/** Sends of which the provider says that it has none. */
const MOST_SURE = 5;

/** Answers that a job is unknown, in a row, before it is believed. */
const MOST_UNKNOWN = 3;

/** Refusals for the operator's fault, in a row, that a job which is under way is followed through. */
const MOST_LOCKED_OUT = 5;

/** Questions after a lost attempt that may go wrong. */
const MOST_FINDS = 5;

/**
 * Follows the work at the provider from where it stands to its end: begins it once, or once more where nobody can tell
 * whether it has begun, and asks after it until it is done. Rejects with the reason of the run's signal.
 */
export async function followCourse(course: Course): Promise<CourseEnd> {
  const { progress } = course;
  if (progress.job !== null) return pollJob(course, progress.job, 0);
  const begun = await begin(course);
  if (begun.state !== "working") return begun;
  await noteJob(course, begun.job);
  return pollJob(course, begun.job, askedDelay(begun) ?? pollDelay(0));
}

type Working = Extract<MediaStep, { state: "working" }>;

/** Sends the task, and again for as long as it surely has not begun; in doubt once more. */
async function begin(course: Course): Promise<Working | CourseEnd> {
  const { adapter, progress } = course;
  const most = adapter.find === undefined ? MOST_IN_DOUBT : MOST_SURE;
  for (let refusals = 0; ;) {
    if (progress.mayBeAtWork) {
      const job = await lookUp(course);
      if (job !== undefined) return { state: "working", job, pollAfterMs: 0 };
    }
    const inDoubt = progress.attempts - progress.refusals;
    if (inDoubt >= most) {
      course.onTrouble("nobody can tell what became of the task, and it is sent no more");
      return { state: "lost_track" };
    }
    const sent = await attempt(course);
    switch (sent.kind) {
      case "taken":
        return sent.step;
      case "over":
        return sent.end;
      case "in_doubt":
        refusals = 0;
        await pause(course, grown(1_000, inDoubt, 8_000));
        break;
      case "busy":
        if (!(await waitForRoom(course, sent, refusals))) return { state: "overloaded" };
        refusals += 1;
    }
  }
}

/** Waits until a provider that takes no work is to be asked again; false where the deadline would come first. */
async function waitForRoom(
  { run, clock, random }: Course,
  { retryAfterMs }: Extract<Sent, { kind: "busy" }>,
  refusals: number,
): Promise<boolean> {
  const waitMs = retryAfterMs === undefined ? grown(1_000, refusals, 60_000) : heededMs(retryAfterMs);
  const delayMs = jittered(waitMs, random);
  if (clock.steadyMs() + delayMs >= run.deadlineMs) return false;
  await wait(clock, delayMs, run.signal);
  return true;
}

/** The job of the last attempt, where the provider can be asked for it and has one. */
async function lookUp(course: Course): Promise<string | undefined> {
  const { adapter, progress } = course;
  if (adapter.find === undefined) return undefined;
  for (let tries = 1; ; tries += 1) {
    try {
      const job = await adapter.find(course.callFor(progress.attempts, "ask"));
      if (job === undefined) progress.mayBeAtWork = false;
      return job;
    } catch (error) {
      passStop(course, error);
      course.onTrouble("an attempt could not be looked up", error);
      if (tries === MOST_FINDS) return undefined;
    }
    await pause(course, grown(1_000, tries - 1, 15_000));
  }
}

/** What sending the task came to. */
type Sent =
  | { readonly kind: "taken"; readonly step: Working | MediaDone }
  /** It may have begun, and may not have. */
  | { readonly kind: "in_doubt" }
  /** It surely has not begun, and the same can be sent again. */
  | { readonly kind: "busy"; readonly retryAfterMs?: number; readonly error?: unknown }
  | { readonly kind: "over"; readonly end: CourseEnd; readonly mayBeAtWork: boolean };

/** Sends the task, once that is written down, and writes down what was surely for nothing. */
async function attempt(course: Course): Promise<Sent> {
  const { run, progress } = course;
  const wasInDoubt = progress.mayBeAtWork;
  progress.attempts += 1;
  await run.beginAttempt();
  progress.mayBeAtWork = true;
  const sent = await sendOnce(course);
  course.failpoint("task.sent");
  // What was sent before this may still be at work.
  if (sent.kind === "busy" || (sent.kind === "over" && !sent.mayBeAtWork)) progress.mayBeAtWork = wasInDoubt;
  if (sent.kind === "busy") {
    course.onTrouble("the provider takes no work now", sent.error);
    progress.refusals += 1;
    await run.noteRefusal();
  }
  return sent;
}

async function sendOnce(course: Course): Promise<Sent> {
  const { adapter, progress } = course;
  let step: MediaStep;
  try {
    step = await adapter.create(course.callFor(progress.attempts, "begin"));
  } catch (error) {
    passStop(course, error);
    return afterThrow(course, error);
  }
  switch (step.state) {
    case "working":
    case "done":
      return { kind: "taken", step };
    case "refused":
      return afterRefusal(course, step.refusal);
    case "unknown_job":
      return { kind: "in_doubt" };
  }
}

function afterRefusal(course: Course, refusal: MediaRefusal): Sent {
  const { reason, retryAfterMs } = refusal;
  switch (reason) {
    case "busy":
      return {
        kind: "busy",
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        error: codeOf(refusal),
      };
    case "unclear":
      course.onTrouble("the provider gave no clear answer", codeOf(refusal));
      return { kind: "in_doubt" };
    case "operator_fault":
      course.onOperatorFault(codeOf(refusal));
      return over({ state: "refused", refusal });
    default:
      return over({ state: "refused", refusal });
  }
}

/** What of a refusal may be logged. */
function codeOf({ reason, code }: MediaRefusal): string {
  return code ?? reason;
}

function afterThrow(course: Course, error: unknown): Sent {
  if (!(error instanceof GatewayError)) throw error;
  const { kind, message } = error;
  switch (kind) {
    case "invalid_request_error":
    case "input_too_large":
    case "content_moderation":
      return over({ state: "refused", refusal: { reason: REASONS[kind], message } });
    case "overloaded_error":
    case "rate_limit_error":
      return { kind: "busy", error };
    case "timeout_error":
      course.onTrouble("the provider did not answer in time", error);
      return course.adapter.find === undefined ? over({ state: "silent" }, true) : { kind: "in_doubt" };
    default:
  }
  switch (callFault(error)) {
    case "not_sent":
      return { kind: "busy", error };
    case "untrusted":
      course.onOperatorFault(describeError(error));
      return over({ state: "refused", refusal: { reason: "operator_fault", message: "" } });
    case "too_large":
      course.onTrouble("the provider's answer is too large", error);
      return over({ state: "lost_track" }, true);
    case "unknown":
      course.onTrouble("the provider's answer did not come", error);
      return { kind: "in_doubt" };
  }
}

const REASONS = {
  invalid_request_error: "invalid_request",
  input_too_large: "input_too_large",
  content_moderation: "moderation",
} as const;

function over(end: CourseEnd, mayBeAtWork = false): Sent {
  return { kind: "over", end, mayBeAtWork };
}

/** Writes down what the provider calls the work. */
async function noteJob(course: Course, job: string): Promise<void> {
  course.progress.job = job;
  course.progress.mayBeAtWork = true;
  await course.noteJob(job);
}

/** How many answers in a row were of a kind that is not borne with for ever. */
interface Patience {
  unknown: number;
  lockedOut: number;
  flaps: number;
}

async function pollJob(course: Course, first: string, firstMs: number): Promise<CourseEnd> {
  const { adapter, progress } = course;
  if (adapter.poll === undefined) return { state: "lost_track" };
  const patience: Patience = { unknown: 0, lockedOut: 0, flaps: 0 };
  let job = first;
  progress.mayBeAtWork = true;
  let pauseMs = firstMs;
  for (let polls = 1; ; polls += 1) {
    await pause(course, pauseMs);
    const step = await askOnce(course, job);
    course.failpoint("task.polled");
    const end = endOf(course, step, patience);
    if (end !== undefined) return end;
    if (step?.state === "working" && step.job !== job) {
      job = step.job;
      await noteJob(course, job);
    }
    pauseMs = pauseAfter(step, polls, patience);
  }
}

/** Where the job stands; `undefined` when that could not be told: the job is not to blame for that. */
async function askOnce(course: Course, job: string): Promise<MediaStep | undefined> {
  try {
    return await course.adapter.poll?.(job, course.callFor(course.progress.attempts, "ask"));
  } catch (error) {
    passStop(course, error);
    if (!(error instanceof GatewayError)) throw error;
    course.onTrouble("the job could not be asked after", error);
    return undefined;
  }
}

/** The end of the course, where this answer is one. */
function endOf(course: Course, step: MediaStep | undefined, patience: Patience): CourseEnd | undefined {
  const { progress } = course;
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
      course.onTrouble("the provider does not know the job");
      return patience.unknown < MOST_UNKNOWN ? undefined : { state: "lost_track" };
    case "refused":
  }
  const { refusal } = step;
  switch (refusal.reason) {
    case "busy":
    case "unclear":
      patience.flaps += 1;
      course.onTrouble("the job could not be asked after", codeOf(refusal));
      return undefined;
    case "operator_fault":
      patience.lockedOut += 1;
      course.onOperatorFault(codeOf(refusal));
      return patience.lockedOut < MOST_LOCKED_OUT ? undefined : step;
    default:
      progress.mayBeAtWork = false;
      return step;
  }
}

/** From two seconds to fifteen. */
function pollDelay(polls: number): number {
  return Math.min(15_000, 2_000 * 1.5 ** Math.min(polls, 10));
}

/** When a provider wishes to be asked again, as far as it is heeded: a minute at most. */
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

/** Passes on what ends the run, and nothing else. */
function passStop({ run }: Course, error: unknown): void {
  if (error instanceof TaskStop) throw error;
  run.signal.throwIfAborted();
}

function pause({ clock, random, run }: Course, delayMs: number): Promise<void> {
  run.signal.throwIfAborted();
  return delayMs === 0 ? Promise.resolve() : wait(clock, jittered(delayMs, random), run.signal);
}
