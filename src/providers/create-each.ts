import { type ErrorKind, GatewayError } from "../core/errors.ts";
import type { ImageRequest } from "../core/media/media.ts";
import { addUsage, type Usage } from "../core/money/usage.ts";
import type { MediaCall, MediaDone, MediaRefusal, MediaStep } from "./media.ts";
import { callFault, isRedirect } from "./upstream.ts";

/** What came of several calls at once: their answers, and why there is none where one broke. */
export interface EachEnd {
  readonly steps: readonly MediaStep[];
  readonly broken: readonly unknown[];
}

/**
 * The requests for several images where one is made at a time. Each has a seed of its own, or all would be one image.
 */
export function oneImageEach(request: ImageRequest): readonly ImageRequest[] {
  return Array.from({ length: request.n }, (_, place) =>
    request.seed === undefined
      ? { ...request, n: 1 }
      : { ...request, n: 1, seed: (request.seed + place) % 2 ** 31 },
  );
}

/** Sends all requests at once. Rejects with the signal's reason alone. */
export async function sendEach(
  requests: readonly ImageRequest[],
  call: MediaCall,
  send: (request: ImageRequest) => Promise<MediaStep>,
): Promise<EachEnd> {
  const ends = await Promise.allSettled(requests.map(send));
  call.signal.throwIfAborted();
  return {
    steps: ends.flatMap((end) => (end.status === "fulfilled" ? [end.value] : [])),
    broken: ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : [])),
  };
}

/**
 * Several images of a provider that makes one while a call waits: as many calls at once, and what they came to
 * together. Rejects as a single call does where nobody knows what became of one and nothing was made.
 */
export async function createEach(
  request: ImageRequest,
  call: MediaCall,
  create: (request: ImageRequest) => Promise<MediaStep>,
): Promise<MediaStep> {
  const end = await sendEach(oneImageEach(request), call, create);
  noteBegun(end, call);
  // Those that were refused as busy may have cost nothing, but those beside them were made: what there is, is given.
  return doneTogether(end.steps) ?? refusedTogether(end);
}

/** Tells the task how many of its parts have begun, or may have. */
export function noteBegun({ steps, broken }: EachEnd, call: Pick<MediaCall, "noteBegun">): void {
  const surely = steps.filter(({ state }) => state === "working" || state === "done").length;
  const maybe = steps.filter(isDoubtful).length + broken.filter(mayHaveBegun).length;
  if (surely + maybe > 0) call.noteBegun({ surely, maybe });
}

function isDoubtful(step: MediaStep): boolean {
  if (step.state !== "refused") return step.state === "unknown_job";
  const { reason, status = 0, mayBeBegun = false } = step.refusal;
  return mayBeBegun || reason === "unclear" || isRedirect(status);
}

/** All that was made; `undefined` where nothing was. */
export function doneTogether(steps: readonly MediaStep[]): MediaDone | undefined {
  const done = steps.filter((step): step is MediaDone => step.state === "done");
  if (done.length === 0) return undefined;
  const usages = done.map(({ usage }) => usage).filter((usage): usage is Usage => usage !== undefined);
  return {
    state: "done",
    outputs: done.flatMap(({ outputs }) => outputs),
    ...(usages.length < done.length ? {} : { usage: usages.reduce(addUsage) }),
  };
}

/** Reasons that say that a call surely began nothing. */
const NOT_BEGUN: ReadonlySet<MediaRefusal["reason"]> = new Set(["busy", "beyond_limit", "operator_fault"]);

/**
 * The refusal that says most of several. Rejects as the call that broke where none does. Work that another provider may
 * then do has surely begun nowhere. The refusal is the operator's fault, beyond a limit, or busy, only where all calls
 * are refused so.
 */
export function refusedTogether({ steps, broken }: EachEnd): MediaStep {
  const refused = steps.filter((step) => step.state === "refused");
  const of = (is: (refusal: MediaRefusal) => boolean) => refused.find(({ refusal }) => is(refusal));
  // A server that redirects does not say what it has done with the request.
  const redirect = of(({ status = 0 }) => isRedirect(status));
  const unclear = of(({ reason }) => reason === "unclear");
  const doubtful = broken.find(mayHaveBegun);
  const known = of(({ reason }) => reason !== "unclear" && !NOT_BEGUN.has(reason));
  const isDoubted = redirect !== undefined || unclear !== undefined || doubtful !== undefined;
  if (known !== undefined) return isDoubted ? withDoubt(known.refusal) : known;
  // It ends the task, and with it what could be sent again.
  if (redirect !== undefined) return withDoubt(redirect.refusal);
  if (doubtful !== undefined) throw doubtful;
  if (unclear !== undefined) return unclear;
  if (broken.length > 0) throw broken[0];
  return (
    of(({ reason }) => reason === "operator_fault") ??
    of(({ reason }) => reason === "beyond_limit") ??
    refused[0] ??
    steps[0] ?? { state: "refused", refusal: { reason: "failed", message: "" } }
  );
}

function withDoubt(refusal: MediaRefusal): MediaStep {
  return { state: "refused", refusal: { ...refusal, mayBeBegun: true } };
}

/** Errors by which a call ends before it is sent. */
const OURS: ReadonlySet<ErrorKind> = new Set([
  "overloaded_error",
  "rate_limit_error",
  "invalid_request_error",
  "input_too_large",
  "content_moderation",
]);

function mayHaveBegun(error: unknown): boolean {
  if (error instanceof GatewayError && OURS.has(error.kind)) return false;
  const fault = callFault(error);
  return fault !== "not_sent" && fault !== "untrusted";
}
