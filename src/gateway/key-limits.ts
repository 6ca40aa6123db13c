import type { Caller } from "../core/caller.ts";
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { KeyLimits } from "../core/rate-limits.ts";
import type { Limiter, LimitRefusal, Pass } from "../limits/limiter.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";
import type { Admission } from "./admit.ts";
import type { RequestRecord } from "./request-record.ts";

/** What a request of a key with limits has until it ends. */
export interface KeyPass {
  readonly pass: Pass;
  /** How the key stands now, as the clients of the request's format read it. */
  headers(): Readonly<Record<string, string>>;
}

/** A request that its key's limits are asked about. */
export interface LimitedCall {
  readonly caller: Caller;
  readonly protocol: RelayProtocol;
  readonly record: RequestRecord;
}

/** Output to reckon with for each choice while a request runs; most answers are shorter. */
const GUESSED_OUTPUT = 1_024;

/**
 * Counts a request against the limits of its key; `undefined` for a key without any. Throws a 429 that says which
 * limit it was and when to come again.
 */
export function passKeyLimits(
  { limiter, clock }: { readonly limiter: Limiter; readonly clock: Clock },
  { caller: { keyId, limits }, protocol, record }: LimitedCall,
  { expectedInput, choices, mostOutput }: Admission,
): KeyPass | undefined {
  if (limits === undefined) return undefined;
  const decision = limiter.admit({
    keyId,
    limits,
    inputTokens: expectedInput,
    outputTokens: Math.min(mostOutput ?? Infinity, GUESSED_OUTPUT * choices),
  });
  const headers = (): Readonly<Record<string, string>> =>
    protocol.limitHeaders(limiter.stateOf(keyId, limits), clock.nowMs());
  if (decision.ok) return { pass: decision, headers };
  record.note({ limit: WORDS[decision.limit].name });
  throw rateLimitError(decision, limits, { expectedInput, headers: headers() });
}

const WORDS: Readonly<Record<keyof KeyLimits, { readonly name: string; readonly unit: string }>> = {
  requestsPerMinute: { name: "requests_per_minute", unit: "requests per minute" },
  tokensPerMinute: { name: "tokens_per_minute", unit: "tokens per minute" },
  concurrency: { name: "concurrency", unit: "requests at once" },
};

function rateLimitError(
  { limit, retryAfterMs }: LimitRefusal,
  limits: KeyLimits,
  {
    expectedInput,
    headers,
  }: { readonly expectedInput: number; readonly headers: Readonly<Record<string, string>> },
): GatewayError {
  const { name, unit } = WORDS[limit];
  const most = `This key is limited to ${limits[limit]} ${unit} (${name}).`;
  if (retryAfterMs === null)
    return new GatewayError(
      "rate_limit_error",
      `${most} The input of this request alone is about ${expectedInput} tokens, so waiting does not help: send less, or have the limit raised.`,
      { headers: { ...headers, "x-should-retry": "false" } },
    );
  const retryAfterSec = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return new GatewayError("rate_limit_error", `${most} Try again in ${retryAfterSec} s.`, {
    retryAfterSec,
    headers: { ...headers, "retry-after-ms": String(retryAfterMs) },
  });
}
