import type { LimitState } from "../core/rate-limits.ts";

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` (openai-node reads them); a reset is a duration such as `12.5s`. */
export function openAiLimitHeaders(state: LimitState, nowMs: number): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [kind, window] of Object.entries({ requests: state.requests, tokens: state.tokens })) {
    if (window === undefined) continue;
    headers[`x-ratelimit-limit-${kind}`] = String(window.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(window.remaining);
    headers[`x-ratelimit-reset-${kind}`] = `${Math.max(0, window.resetAtMs - nowMs) / 1000}s`;
  }
  return headers;
}
