import type { Caller } from "../core/caller.ts";
import type { Clock } from "../core/time/clock.ts";
import { type ErrorKind, GatewayError, withHeaders } from "../core/errors.ts";
import type { KeyLimits } from "../core/rate-limits.ts";
import type { Limiter, LimitRefusal, Pass, UsedTokens } from "../limits/limiter.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";
import type { RequestRecord } from "./request-record.ts";

/** A request's place within the limits of its key, until it ends. */
export interface KeyPass {
  readonly pass: Pass;
  /** The state of the key's limits, in headers for the clients of the request's format. */
  headers(): Readonly<Record<string, string>>;
}

/** A request whose key has limits. */
export interface LimitedCall {
  readonly caller: Caller;
  /** The headers that tell its clients the state of the limits. */
  readonly format: Pick<RelayProtocol, "limitHeaders">;
  readonly record: RequestRecord;
  /** The error of a refusal; a 429 unless the endpoint has none. */
  readonly refusedAs?: "rate_limit_error" | "overloaded_error";
}

interface LimitServices {
  readonly limiter: Limiter;
  readonly clock: Clock;
}

/**
 * Counts a request against the limits of its key, with a guess at its tokens; `undefined` for a key without any. Throws
 * a 429, or a 503, that says which limit it was and when to retry.
 */
export function passKeyLimits(
  services: LimitServices,
  call: LimitedCall,
  guess: UsedTokens,
): KeyPass | undefined {
  const { limits } = call.caller;
  return limits === undefined ? undefined : passLimits(services, limits, call, guess);
}

/** Apart, since most keys have no limits: a function that makes closures takes memory for them at each call. */
function passLimits(
  { limiter, clock }: LimitServices,
  limits: KeyLimits,
  { caller: { keyId }, format, record, refusedAs = "rate_limit_error" }: LimitedCall,
  guess: UsedTokens,
): KeyPass {
  const decision = limiter.admit({ keyId, limits, inputTokens: guess.input, outputTokens: guess.output });
  const headers = (): Readonly<Record<string, string>> =>
    format.limitHeaders(limiter.stateOf(keyId, limits), clock.nowMs());
  if (decision.ok) return { pass: decision, headers };
  record.note({ limit: WORDS[decision.limit].name });
  throw withHeaders(limitError(refusedAs, decision, limits, guess.input), headers());
}

/** Throws what `passKeyLimits` would throw for the smallest request of the key, and counts nothing. */
export function lookAtKeyLimits(
  { limiter, clock }: LimitServices,
  { caller: { keyId, limits }, format, record, refusedAs = "rate_limit_error" }: LimitedCall,
): void {
  if (limits === undefined) return;
  const refusal = limiter.look(keyId, limits);
  if (refusal === undefined) return;
  record.note({ limit: WORDS[refusal.limit].name });
  const headers = format.limitHeaders(limiter.stateOf(keyId, limits), clock.nowMs());
  throw withHeaders(limitError(refusedAs, refusal, limits, 1), headers);
}

const WORDS: Readonly<Record<keyof KeyLimits, { readonly name: string; readonly unit: string }>> = {
  requestsPerMinute: { name: "requests_per_minute", unit: "requests per minute" },
  tokensPerMinute: { name: "tokens_per_minute", unit: "tokens per minute" },
  concurrency: { name: "concurrency", unit: "requests at once" },
};

function limitError(
  kind: ErrorKind,
  { limit, retryAfterMs }: LimitRefusal,
  limits: KeyLimits,
  expectedInput: number,
): GatewayError {
  const { name, unit } = WORDS[limit];
  const most = `This key is limited to ${limits[limit]} ${unit} (${name}).`;
  if (retryAfterMs === null)
    return new GatewayError(
      kind,
      `${most} The input of this request alone is about ${expectedInput} tokens, so waiting does not help: send less, or have the limit raised.`,
      { headers: { "x-should-retry": "false" } },
    );
  const retryAfterSec = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new GatewayError(kind, `${most} Try again in ${retryAfterSec} s.`, {
    retryAfterSec,
    headers: { "retry-after-ms": String(retryAfterMs) },
  });
}
