import { GatewayError } from "../../../core/errors.ts";
import { describeError } from "../../../core/log/log.ts";
import type { MediaDone, MediaRefusal, MediaStep } from "../../../providers/media.ts";
import { isGood } from "../../../providers/media-answers.ts";
import { callFault, isRedirect } from "../../../providers/upstream.ts";
import type { Place } from "../../routing/health.ts";
import {
  type AttemptAnswers,
  callForAttempt,
  callForPoll,
  codeOf,
  type Job,
  type JobEnd,
  noteStatus,
  partsOf,
  passStop,
  pause,
  tell,
  tellOperator,
} from "./open-job.ts";
import { resultOfError, resultOfStep } from "./call-result.ts";
import { createTurns, type Turn } from "./turns.ts";
import { grown } from "./waits.ts";

/** Attempts in doubt: the first, and one more where the provider has no way to ask for the job. */
const MOST_IN_DOUBT = 2;

/** Attempts after each of which the provider says that it has no job. */
const MOST_SURE = 5;

/** Failed questions after an attempt whose job is in doubt. */
const MOST_FINDS = 5;

export type Working = Extract<MediaStep, { state: "working" }>;

/**
 * Attempts the task until a provider has it. It tries one route after the other for as long as the task surely has not
 * begun. In doubt it tries once more, at the same route.
 */
export async function attemptUntilTaken(job: Job): Promise<Working | JobEnd> {
  const { progress } = job;
  const turns = createTurns(job);
  for (;;) {
    if (progress.inDoubt > 0) {
      const name = await lookUp(job);
      if (name !== undefined) return { state: "working", job: name, pollAfterMs: 0 };
    }
    const inDoubt = progress.attempts - progress.refusals;
    if (inDoubt >= (job.at.adapter.find === undefined ? MOST_IN_DOUBT : MOST_SURE)) {
      tell(job, "warn", "nobody can tell what became of the task, and it is sent no more");
      return { state: "lost_track" };
    }
    const turn = await turns.next(inDoubt > 0);
    if ("end" in turn) return turn.end;
    const { route } = turn;
    // Whatever does not come to an answer says nothing of the route.
    const sent = await attempt(job, turn).finally(() => turn.place.end({ kind: "neutral" }));
    switch (sent.kind) {
      case "taken":
        return sent.step;
      case "over":
        return sent.end;
      case "in_doubt":
        await pause(job, grown(1_000, inDoubt, 8_000));
        break;
      case "busy":
        turns.busy(route, sent.retryAfterMs);
        break;
      case "out":
        turns.out(route, sent.refusal);
    }
  }
}

/** The job of the last attempt, where the provider can be asked for it and has one. */
async function lookUp(job: Job): Promise<string | undefined> {
  const { progress } = job;
  const { adapter } = job.at;
  if (adapter.find === undefined) return undefined;
  for (let tries = 1; ; tries += 1) {
    try {
      const name = await adapter.find(callForPoll(job));
      // The answer is about the last attempt alone.
      const all = partsOf(job.payload);
      progress.begun = name === undefined ? 0 : all;
      progress.inDoubt = Math.max(0, progress.inDoubt - all);
      return name;
    } catch (error) {
      passStop(job, error);
      tell(job, "warn", "an attempt could not be looked up", error);
      if (tries === MOST_FINDS) return undefined;
    }
    await pause(job, grown(1_000, tries - 1, 15_000));
  }
}

/** The result of an attempt. */
type Attempted =
  | { readonly kind: "taken"; readonly step: Working | MediaDone }
  /** The job may have begun. */
  | { readonly kind: "in_doubt" }
  /** The job surely has not begun, and the same can be sent again. */
  | { readonly kind: "busy"; readonly retryAfterMs?: number; readonly error?: unknown }
  /** The job surely has not begun, and this provider will not begin it. */
  | { readonly kind: "out"; readonly refusal: MediaRefusal }
  | { readonly kind: "over"; readonly end: JobEnd; readonly mayBeAtWork: boolean };

/** Sends the task to the route's provider, after writing down the attempt, and writes down where it surely began no job. */
async function attempt(job: Job, { route, place }: Turn): Promise<Attempted> {
  const { run, progress, parts } = job;
  const { inDoubt: inDoubtBefore } = progress;
  const { provider } = route.route;
  const begun = await run.beginAttempt({ provider, providerLimit: parts.limitOf(route.provider) });
  if (begun === "full") {
    place.end({ kind: "not_made" });
    return { kind: "busy" };
  }
  job.at = route;
  progress.attempts += 1;
  progress.inDoubt = partsOf(job.payload);
  job.sentMs = parts.clock.steadyMs();
  const sent = await send(job, place);
  parts.failpoint("task.sent");
  const isRefused = sent.kind === "busy" || sent.kind === "out";
  const isInVain = isRefused || (sent.kind === "over" && !sent.mayBeAtWork);
  // Earlier attempts may still be at work, and each may have begun other parts.
  progress.inDoubt = inDoubtBefore;
  if (!isInVain) countParts(job, sent);
  if (sent.kind === "busy") tell(job, "warn", "the provider takes no work now", sent.error);
  if (isRefused) {
    progress.refusals += 1;
    await run.noteRefusal();
    parts.failpoint("task.refused");
  }
  return sent;
}

/** Counts the parts that the present attempt has begun. Those of which the provider said nothing are in doubt. */
function countParts({ progress, payload, answers }: Job, { kind }: Attempted): void {
  const { surely, maybe } = answers.begun ?? { surely: partsOf(payload), maybe: 0 };
  if (kind === "taken") progress.begun = surely;
  else progress.inDoubt += surely;
  progress.inDoubt += maybe;
}

async function send(job: Job, place: Place): Promise<Attempted> {
  let step: MediaStep;
  try {
    step = await job.at.adapter.create(callForAttempt(job)).finally(() => job.inputs.close());
  } catch (error) {
    passStop(job, error);
    const { ofBroken } = job.answers;
    if (ofBroken.has(error)) noteStatus(job, ofBroken.get(error) ?? null);
    place.end(resultOfError(error, job.parts.random));
    return afterThrow(job, error);
  }
  const status = statusOf(step, job.answers) ?? 0;
  if (status !== 0) noteStatus(job, status);
  place.end(resultOfStep(step, status, job.parts.random));
  switch (step.state) {
    case "working":
    case "done":
      return { kind: "taken", step };
    case "refused":
      return afterRefusal(job, step.refusal, status);
    case "unknown_job":
      return { kind: "in_doubt" };
  }
}

/** The status that decided: of several calls it is the refusal's own, or a good one where a part was taken. */
function statusOf(step: MediaStep, { statuses }: AttemptAnswers): number | undefined {
  const told = step.state === "refused" ? step.refusal.status : statuses.find((status) => isGood({ status }));
  return told ?? statuses.at(-1);
}

function afterRefusal(job: Job, refusal: MediaRefusal, status: number): Attempted {
  const { reason, retryAfterMs, mayBeBegun = false } = refusal;
  switch (reason) {
    case "busy":
      return {
        kind: "busy",
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        error: codeOf(refusal),
      };
    case "unclear":
      tell(job, "warn", "the provider gave no clear answer", codeOf(refusal));
      return { kind: "in_doubt" };
    case "beyond_limit":
      tell(
        job,
        "warn",
        "the request alone is more than the provider's credential may use in a minute",
        BEYOND,
      );
      return { kind: "out", refusal };
    case "operator_fault":
      tellOperator(job, codeOf(refusal));
      // A server that redirects does not say what it has done with the request.
      if (isRedirect(status) || mayBeBegun) return over({ state: "refused", refusal }, true);
      return { kind: "out", refusal };
    default:
      return over({ state: "refused", refusal }, mayBeBegun);
  }
}

const BEYOND = "Raise the limit of the credential at the provider, or add a route.";

function afterThrow(job: Job, error: unknown): Attempted {
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
      if (callFault(error) === "not_sent") return { kind: "busy", error };
      tell(job, "warn", "the provider did not answer in time", error);
      return job.at.adapter.find === undefined ? over({ state: "silent" }, true) : { kind: "in_doubt" };
    default:
  }
  switch (callFault(error)) {
    case "not_sent":
      return { kind: "busy", error };
    case "untrusted":
      tellOperator(job, describeError(error));
      return { kind: "out", refusal: { reason: "operator_fault", message: "" } };
    case "too_large":
      tell(job, "warn", "the provider's answer is too large", error);
      return over({ state: "lost_track" }, true);
    case "unknown":
      tell(job, "warn", "the provider's answer did not come", error);
      return { kind: "in_doubt" };
  }
}

const REASONS = {
  invalid_request_error: "invalid_request",
  input_too_large: "input_too_large",
  content_moderation: "moderation",
} as const;

function over(end: JobEnd, mayBeAtWork = false): Attempted {
  return { kind: "over", end, mayBeAtWork };
}
