import type { Clock } from "../core/time/clock.ts";
import type { KeyLimits, LimitState, LimitWindow } from "../core/rate-limits.ts";
import { createSlidingWindow, type SlidingWindow, WINDOW_MS } from "./window.ts";

/**
 * Counts what keys use and refuses requests beyond their limits. A request counts from its admission. Its input tokens
 * count at admission, its output tokens when it ends. Until then a guess counts in their place.
 */
export interface Limiter {
  /** One decision on all limits of a key: a request that one of them refuses uses nothing of the others. */
  admit(request: LimitedRequest): Pass | LimitRefusal;
  /** The limit that would refuse the smallest request of a key now. Nothing is counted. */
  look(keyId: string, limits: KeyLimits): LimitRefusal | undefined;
  /** The state of a key's limits per minute. */
  stateOf(keyId: string, limits: KeyLimits): LimitState;
  /** What a key uses now of each limit that it has; null for those that it has not, which are not counted. */
  usedOf(keyId: string, limits: KeyLimits): KeyLimits;
  /** How many keys are remembered. */
  readonly size: number;
}

/** A request of a key that has limits. */
export interface LimitedRequest {
  readonly keyId: string;
  /** The limits as they are now: a change counts from the next request on. */
  readonly limits: KeyLimits;
  /** Expected input tokens. */
  readonly inputTokens: number;
  /** Expected output tokens; cut to the limit where the limit is smaller. */
  readonly outputTokens: number;
}

/** A request that was admitted and is under way. */
export interface Pass {
  readonly ok: true;
  /** Ends the request: frees its place and counts `used` in place of the guess. Only the first call has an effect. */
  end(used: UsedTokens | "as_guessed"): void;
}

/** Tokens of one request; each bucket is in one of the two. */
export interface UsedTokens {
  readonly input: number;
  readonly output: number;
}

/** Which limit refuses a request, and when it would not. */
export interface LimitRefusal {
  readonly ok: false;
  readonly limit: keyof KeyLimits;
  /** At least 1; `null` when waiting never helps, since the request alone is larger than the limit. */
  readonly retryAfterMs: number | null;
}

/** No time is known at which a request under way ends: look again after this long. */
const BUSY_MS = 1_000;

interface KeyUse {
  readonly requests: SlidingWindow;
  readonly tokens: SlidingWindow;
  underWay: number;
  lastUsedMs: number;
}

/** A limiter of this process. It forgets keys without use in the last minute. */
export function createLimiter(clock: Clock): Limiter {
  /** Least recently used first. */
  const uses = new Map<string, KeyUse>();

  const useOf = (keyId: string, nowMs: number): KeyUse => {
    const known = uses.get(keyId);
    const use = known ?? {
      requests: createSlidingWindow(),
      tokens: createSlidingWindow(),
      underWay: 0,
      lastUsedMs: nowMs,
    };
    use.lastUsedMs = nowMs;
    uses.delete(keyId);
    uses.set(keyId, use);
    return use;
  };

  /** Checks two keys for each that is used, so that the map stays small. */
  const forgetIdle = (nowMs: number): void => {
    for (let i = 0; i < 2; i += 1) {
      const [oldest] = uses;
      if (oldest === undefined) return;
      const [keyId, use] = oldest;
      if (nowMs - use.lastUsedMs < WINDOW_MS) return;
      uses.delete(keyId);
      // A key with requests under way is checked again when its turn comes.
      if (use.underWay > 0) uses.set(keyId, use);
    }
  };

  return {
    admit({ keyId, limits, inputTokens, outputTokens }) {
      const nowMs = clock.steadyMs();
      forgetIdle(nowMs);
      const use = useOf(keyId, nowMs);
      const guess = Math.max(inputTokens, Math.min(inputTokens + outputTokens, limits.tokensPerMinute ?? 0));
      const refusal = refusalOf(use, limits, { nowMs, inputTokens, guess });
      if (refusal !== undefined) return refusal;
      use.underWay += 1;
      if (limits.requestsPerMinute !== null) use.requests.add(nowMs, 1);
      const entry = limits.tokensPerMinute === null ? undefined : use.tokens.add(nowMs, guess);
      let ended = false;
      return {
        ok: true,
        end(used) {
          if (ended) return;
          ended = true;
          use.underWay -= 1;
          use.lastUsedMs = clock.steadyMs();
          if (entry === undefined || used === "as_guessed") return;
          use.tokens.correct(entry, used.input - guess);
          if (used.output > 0) use.tokens.add(use.lastUsedMs, used.output);
        },
      };
    },

    look(keyId, limits) {
      const use = uses.get(keyId);
      if (use === undefined) return undefined;
      return refusalOf(use, limits, { nowMs: clock.steadyMs(), inputTokens: 1, guess: 1 });
    },

    usedOf: (keyId, limits) => usedBy(uses.get(keyId), limits, clock.steadyMs()),

    get size() {
      return uses.size;
    },

    stateOf(keyId, limits) {
      const nowMs = clock.steadyMs();
      const aheadMs = nowMs - clock.nowMs();
      const use = uses.get(keyId);
      const stand = (limit: number | null, window: SlidingWindow | undefined): LimitWindow | undefined => {
        if (limit === null) return undefined;
        const used = window?.used(nowMs) ?? 0;
        const resetAtMs = (window?.emptyAtMs(nowMs) ?? nowMs) - aheadMs;
        return { limit, remaining: Math.max(0, limit - used), resetAtMs };
      };
      const requests = stand(limits.requestsPerMinute, use?.requests);
      const tokens = stand(limits.tokensPerMinute, use?.tokens);
      return {
        ...(requests === undefined ? {} : { requests }),
        ...(tokens === undefined ? {} : { tokens }),
      };
    },
  };
}

/** What is in use of each limit that there is. */
function usedBy(
  use: KeyUse | undefined,
  { requestsPerMinute, tokensPerMinute, concurrency }: KeyLimits,
  nowMs: number,
): KeyLimits {
  return {
    requestsPerMinute: requestsPerMinute === null ? null : (use?.requests.used(nowMs) ?? 0),
    tokensPerMinute: tokensPerMinute === null ? null : (use?.tokens.used(nowMs) ?? 0),
    concurrency: concurrency === null ? null : (use?.underWay ?? 0),
  };
}

/** The limit that a request must wait for longest, if any. */
function refusalOf(
  { requests, tokens, underWay }: KeyUse,
  { requestsPerMinute, tokensPerMinute, concurrency }: KeyLimits,
  {
    nowMs,
    inputTokens,
    guess,
  }: { readonly nowMs: number; readonly inputTokens: number; readonly guess: number },
): LimitRefusal | undefined {
  if (tokensPerMinute !== null && inputTokens > tokensPerMinute)
    return { ok: false, limit: "tokensPerMinute", retryAfterMs: null };
  const waits: readonly (readonly [limit: keyof KeyLimits, waitMs: number])[] = [
    ["concurrency", concurrency === null || underWay < concurrency ? 0 : BUSY_MS],
    [
      "requestsPerMinute",
      requestsPerMinute === null ? 0 : requests.freeAtMs(nowMs, requestsPerMinute - 1) - nowMs,
    ],
    [
      "tokensPerMinute",
      tokensPerMinute === null ? 0 : tokens.freeAtMs(nowMs, tokensPerMinute - guess) - nowMs,
    ],
  ];
  const [limit, retryAfterMs] = waits.reduce((longest, wait) => (wait[1] > longest[1] ? wait : longest));
  return retryAfterMs === 0 ? undefined : { ok: false, limit, retryAfterMs };
}
