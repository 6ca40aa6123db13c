import type { LimitState } from "../../core/rate-limits.ts";

/** `anthropic-ratelimit-{requests,tokens}-{limit,remaining,reset}`; a reset is a time in RFC 3339. */
export function limitHeaders(state: LimitState): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [kind, window] of Object.entries({ requests: state.requests, tokens: state.tokens })) {
    if (window === undefined) continue;
    headers[`anthropic-ratelimit-${kind}-limit`] = String(window.limit);
    headers[`anthropic-ratelimit-${kind}-remaining`] = String(window.remaining);
    headers[`anthropic-ratelimit-${kind}-reset`] =
      `${new Date(window.resetAtMs).toISOString().slice(0, 19)}Z`;
  }
  return headers;
}
