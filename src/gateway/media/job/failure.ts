import type { TaskErrorType, TaskFailure, TaskKind } from "../../../core/task.ts";
import { shownMessage } from "../../../protocols/refusal.ts";
import type { MediaDone, MediaRefusal } from "../../../providers/media.ts";
import type { TaskRun } from "../../../tasks/run/job.ts";
import type { JobEnd } from "./open-job.ts";

/** The provider of a failure, and what its words must not reveal. */
export interface FailureContext {
  readonly run: TaskRun;
  /** Of the provider. */
  readonly secrets: readonly string[];
}

/** The failure that the client of a task gets. A provider's own words only where the client can act on them. */
export function failureOf(end: Exclude<JobEnd, MediaDone>, context: FailureContext): TaskFailure {
  switch (end.state) {
    case "refused":
      return refusalFailure(end.refusal, context);
    case "overloaded":
      return {
        type: "overloaded_error",
        message: "The provider took no work until the timeout was about to pass. Try again later.",
      };
    case "silent":
      return { type: "timeout_error", message: "The provider did not answer in time." };
    case "lost_track":
      return noResult(context.run.kind);
  }
}

/** The failure of work without a result. It names no reason: nothing in the client's request is to blame. */
export function noResult(kind: TaskKind): TaskFailure {
  return { type: "generation_error", message: `The provider failed to make the ${kind}. Try again.` };
}

const BEYOND_LIMIT =
  "This request alone is larger than the provider takes from this gateway in a minute, so waiting does not help. Ask for fewer or smaller outputs in one request.";

const CLIENT_FAULTS = {
  moderation: "content_moderation",
  invalid_request: "invalid_request_error",
  input_too_large: "input_too_large",
} as const satisfies Partial<Record<MediaRefusal["reason"], TaskErrorType>>;

function refusalFailure({ reason, message }: MediaRefusal, { run, secrets }: FailureContext): TaskFailure {
  switch (reason) {
    case "moderation":
    case "invalid_request":
    case "input_too_large": {
      const type = CLIENT_FAULTS[reason];
      const { hold } = run;
      // Our own names that the provider was sent, or could know.
      const ours = [run.id, hold.id, run.accountId, hold.keyId, run.requestId];
      return {
        type,
        message: shownMessage(message, type, { secrets: [...secrets, ...ours], model: run.model }),
      };
    }
    case "beyond_limit":
      // Never the provider's sentence: it names the operator's account and its limit.
      return { type: "input_too_large", message: BEYOND_LIMIT };
    default:
      return noResult(run.kind);
  }
}
