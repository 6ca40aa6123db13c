import { type ErrorKind, GatewayError } from "../../core/errors.ts";
import { fraction, type Random } from "../../core/random.ts";
import { type OperatorFault, RefusalCause } from "../../protocols/refusal.ts";
import { callFault, type CallFault, isRedirect } from "../../providers/upstream.ts";
import type { CallResult } from "./call-result.ts";
import type { UnsafeRetry } from "./settings.ts";

/** A call that failed before anything of an answer's content went to the client. */
export interface Failure {
  readonly how:
    | CallFault
    /** The gateway's own time limit, before anybody had all of the request. */
    | "send_limit"
    /** The gateway's own time limit of an answer. */
    | "time_limit"
    /** By the status of the answer. */
    | "refused"
    /** By an error in place of a stream's content. */
    | "error_event"
    /** By an error in a plain answer that began as a good one. */
    | "error_body"
    /** An answer that was no answer. */
    | "bad_answer"
    /** By the gateway itself. */
    | "not_called";
  /** Of a refusal or an error: what it meant, 0 where it did not say. */
  readonly status?: number;
  /** The request is at fault, whatever the status. */
  readonly isRequests?: boolean;
  /** See `RefusalCause`. */
  readonly beyondLimit?: boolean;
  /** What only the operator can mend. */
  readonly fault?: OperatorFault | undefined;
  /** The pause that the provider asks for, from 1 to 60 seconds. */
  readonly retryAfterMs?: number | undefined;
}

/** Where the next attempt may be made. Each has the ones before it: another route is another credential, too. */
export type Where = "nowhere" | "other_route" | "other_credential" | "anywhere";

/** Who is to blame for a failure, and what may be done next. */
interface Rule {
  readonly blame: "credential" | "route" | "nobody";
  readonly where: Where;
  /** The credential is not accepted: its breaker opens at once. */
  readonly opens?: true;
  /** It holds for the route by this credential, which takes a pause. */
  readonly cools?: true;
  /** The same way may serve it later, though this request does not try that. Of `anywhere` it always may. */
  readonly passes?: true;
  /** A request that failed so is retried but once. */
  readonly once?: true;
  /** The provider may have done the work: only where the operator allows this. */
  readonly unsafe?: UnsafeRetry;
}

/** Every reason for which a call fails. `docs/configuration.md` has this table for operators. */
const RULES = {
  /** No address, no connection: nothing was sent. */
  not_sent: { blame: "credential", where: "anywhere" },
  /** Nothing was sent within the limit of it. The same server would use up that limit once more. */
  send_timed_out: { blame: "credential", where: "other_route", passes: true },
  /** The server cannot show that it is the provider: it was sent nothing. */
  untrusted: { blame: "credential", where: "other_route" },
  /** A 3xx: whoever has the request says nothing of what was done with it. */
  redirected: { blame: "credential", where: "nowhere" },
  credential_refused: { blame: "credential", where: "other_credential", opens: true },
  /** 403: the credential may serve other models. */
  access_refused: { blame: "credential", where: "other_credential", cools: true },
  model_unknown: { blame: "route", where: "other_route" },
  /** 408 and 425. */
  try_again: { blame: "nobody", where: "anywhere", once: true },
  rate_limited: { blame: "credential", where: "anywhere", cools: true },
  /** A request that alone is too large for the credential's limit: it is not limited for others. */
  beyond_limit: { blame: "nobody", where: "other_credential" },
  /** 500, 503, 529, an edge that did not reach the provider's own server, and an error in place of content. */
  failed: { blame: "credential", where: "anywhere" },
  reset: { blame: "credential", where: "anywhere", unsafe: "reset" },
  bad_gateway: { blame: "credential", where: "anywhere", unsafe: 502 },
  timed_out: { blame: "credential", where: "anywhere", unsafe: 504 },
  bad_answer: { blame: "credential", where: "anywhere", unsafe: "bad_answer" },
  /** The request is at fault, or the gateway: another provider would not help. */
  not_theirs: { blame: "nobody", where: "nowhere" },
} as const satisfies Record<string, Rule>;

export type FailureReason = keyof typeof RULES;

/** What becomes of a failed call. */
export interface Retry {
  readonly reason: FailureReason;
  readonly where: Where;
  /** How long to wait before the same way is tried again; absent: it is not. Another way is tried at once. */
  readonly waitMs?: number;
  /** Whether the same way may serve the request later: the failure may be over by itself. */
  readonly passes: boolean;
  /** What the way's health is told. */
  readonly result: CallResult;
}

/** What a retry is decided by, beside the failure. */
export interface RetryTerms {
  readonly unsafeRetries: ReadonlySet<UnsafeRetry>;
  /** Retries of the request so far. */
  readonly retries: number;
  readonly random: Random;
}

/** A pause that a provider asks for is waited out by a request up to this long. */
export const MOST_WAIT_MS = 5_000;

/** Full jitter: anything from 0 to so much, twice as much each time. */
const BACKOFF_MS = 100;
const MOST_BACKOFF_MS = 2_000;

/** Who is to blame for a failure, and where and when the next attempt may be made. */
export function retryOf(failure: Failure, { unsafeRetries, retries, random }: RetryTerms): Retry {
  const { status, retryAfterMs } = failure;
  const reason = reasonOf(failure);
  const { blame, where: safeWhere, opens, cools, passes, once, unsafe }: Rule = RULES[reason];
  // What a good status came with may be paid for, whatever it says.
  const risk = failure.how === "error_body" ? "bad_answer" : unsafe;
  const isAllowed = (once !== true || retries === 0) && (risk === undefined || unsafeRetries.has(risk));
  const where = isAllowed ? safeWhere : "nowhere";
  const waitMs = retryAfterMs ?? fraction(random) * Math.min(MOST_BACKOFF_MS, BACKOFF_MS * 2 ** retries);
  return {
    reason,
    where,
    passes: passes === true || safeWhere === "anywhere",
    ...(where === "anywhere" && waitMs <= MOST_WAIT_MS ? { waitMs: Math.ceil(waitMs) } : {}),
    result:
      blame === "nobody"
        ? { kind: "neutral" }
        : {
            kind: "failed",
            blame,
            reason,
            ...(status === undefined || status === 0 ? {} : { status }),
            ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
            ...(opens === undefined ? {} : { opens }),
            ...(cools === undefined ? {} : { cools }),
          },
  };
}

const BY_STATUS: Readonly<Record<number, FailureReason>> = {
  401: "credential_refused",
  402: "credential_refused",
  403: "access_refused",
  404: "model_unknown",
  408: "try_again",
  425: "try_again",
  429: "rate_limited",
  500: "failed",
  503: "failed",
  529: "failed",
  504: "timed_out",
  // Cloudflare's, before many vendors. No connection to the server behind it: refused, out of reach, no TLS. The others
  // (520, 522, 527, 530) may come after the request: https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/
  521: "failed",
  523: "failed",
  525: "failed",
  526: "failed",
  524: "timed_out",
};

const OF_FAULT = {
  credential: "credential_refused",
  access: "access_refused",
  model: "model_unknown",
} as const satisfies Record<OperatorFault, FailureReason>;

/** Of failures without a status. */
const BY_HOW = {
  not_sent: "not_sent",
  send_limit: "send_timed_out",
  untrusted: "untrusted",
  unknown: "reset",
  too_large: "bad_answer",
  bad_answer: "bad_answer",
  time_limit: "timed_out",
  not_called: "not_theirs",
} as const;

function reasonOf({ how, status = 0, isRequests, beyondLimit, fault }: Failure): FailureReason {
  if (how !== "refused" && how !== "error_event" && how !== "error_body") return BY_HOW[how];
  if (fault !== undefined) return OF_FAULT[fault];
  if (beyondLimit === true) return "beyond_limit";
  if (isRequests === true) return "not_theirs";
  // An error that came in place of an answer says that there is none, unless that was a plain answer: it may be paid for.
  if (how !== "refused" && (status === 0 || status >= 500))
    return how === "error_event" ? "failed" : "bad_answer";
  if (isRedirect(status)) return "redirected";
  return BY_STATUS[status] ?? (status >= 500 ? "bad_gateway" : "not_theirs");
}

/** The answer that a call got, as far as it got one. */
export interface Answered {
  readonly status: number;
  /** Whether a stream was asked for. */
  readonly stream: boolean;
}

/** Whether a provider's answer with that status is one that it charges for. */
export function isGoodStatus(status: number): boolean {
  return status >= 200 && status < 300;
}

/** What is known of a call that ended with `error`, before anything of an answer's content went to the client. */
export function readFailure(error: unknown, answer: Answered | undefined): Failure {
  if (!(error instanceof GatewayError)) return { how: "not_called" };
  const { kind, cause } = error;
  const isGood = answer !== undefined && isGoodStatus(answer.status);
  if (cause instanceof RefusalCause) {
    const { status, beyondLimit, fault, retryAfterSec } = cause;
    return {
      how: !isGood ? "refused" : answer.stream ? "error_event" : "error_body",
      status,
      beyondLimit,
      fault,
      isRequests: OF_REQUEST.has(kind),
      retryAfterMs: retryAfterSec === undefined ? undefined : retryAfterSec * 1_000,
    };
  }
  // A refusal whose body could not be read is one all the same.
  if (answer !== undefined && !isGood) return { how: "refused", status: answer.status };
  const fault = answer === undefined ? callFault(error) : undefined;
  if (kind === "timeout_error") return { how: fault === "not_sent" ? "send_limit" : "time_limit" };
  if (kind !== "upstream_error") return { how: "not_called" };
  if (fault !== undefined) return { how: fault };
  return { how: cause instanceof Error && "code" in cause ? "unknown" : "bad_answer" };
}

/** Faults of the request. */
const OF_REQUEST: ReadonlySet<ErrorKind> = new Set([
  "invalid_request_error",
  "input_too_large",
  "content_moderation",
]);
