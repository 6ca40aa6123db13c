import type { LimitState } from "../../core/rate-limits.ts";

/** `anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}`; a reset is a time in RFC 3339. */
export function limitHeaders(state: LimitState): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [kind, window] of Object.entries({ requests: state.requests, tokens: state.tokens })) {
    if (window === undefined) continue;
    headers[`anthropic-ratelimit-${kind}-limit`] = String(window.limit);
    headers[`anthropic-ratelimit-${kind}-remaining`] = String(window.remaining);
    headers[`anthropic-ratelimit-${kind}-reset`] = rfc3339(window.resetAtMs);
  }
  return headers;
}

/** Whole seconds, never before the time itself: who waits until then must not come too early. */
function rfc3339(ms: number): string {
  return new Date(Math.ceil(ms / 1000) * 1000).toISOString().replace(".000Z", "Z");
}
