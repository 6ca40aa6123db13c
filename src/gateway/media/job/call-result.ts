import type { Random } from "../../../core/random.ts";
import type { MediaRefusal, MediaStep } from "../../../providers/media.ts";
import { isRedirect } from "../../../providers/upstream.ts";
import type { CallResult } from "../../routing/call-result.ts";
import { type Failure, readFailure, retryOf } from "../../routing/retry.ts";
import { heededMs } from "./waits.ts";

/** What an attempt's answer, which came with `status`, says of its route. */
export function resultOfStep(step: MediaStep, status: number, random: Random): CallResult {
  switch (step.state) {
    case "working":
    case "done":
      // No latency yet: one vendor answers when it has begun, another when it is done.
      return { kind: "ok" };
    case "unknown_job":
      return resultOf({ how: "bad_answer" }, random);
    case "refused":
      return resultOfRefusal(step.refusal, status, random);
  }
}

/** What an attempt without an answer says of its route. */
export function resultOfError(error: unknown, random: Random): CallResult {
  return resultOf(readFailure(error, undefined), random);
}

/** By the rules of language calls; only the blame counts here. */
function resultOf(failure: Failure, random: Random): CallResult {
  return retryOf(failure, { unsafeRetries: new Set(), retries: 0, random }).result;
}

/** Statuses of a server that is out of order rather than limited. */
const OUT_OF_ORDER: ReadonlySet<number> = new Set([503, 529]);

/** Models are opened and paid for one by one: the credential may serve others. */
const NOT_OPEN = { cools: true, retryAfterMs: 60_000 } as const;

function resultOfRefusal({ reason, retryAfterMs }: MediaRefusal, status: number, random: Random): CallResult {
  switch (reason) {
    case "busy":
      // Some say by a good status that they take no more.
      return resultOf(
        {
          how: "refused",
          status: OUT_OF_ORDER.has(status) ? status : 429,
          ...(retryAfterMs === undefined ? {} : { retryAfterMs: heededMs(retryAfterMs) }),
        },
        random,
      );
    case "operator_fault":
      if (status === 404) return resultOf({ how: "refused", status, fault: "model" }, random);
      if (status === 401 || isRedirect(status)) return resultOf({ how: "refused", status }, random);
      return { kind: "failed", blame: "credential", reason: "credential_refused", status, ...NOT_OPEN };
    case "unclear":
      return resultOf(status < 400 ? { how: "bad_answer" } : { how: "refused", status }, random);
    default:
      return { kind: "neutral" };
  }
}
