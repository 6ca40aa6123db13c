import type { LimitState } from "../../core/rate-limits.ts";
import type { RelayProtocol } from "../protocol.ts";
import { readRefusal } from "../refusal.ts";
import { readAnswer } from "./answer.ts";
import { encodeError, ErrorSchema } from "./error-body.ts";
import { demandAt } from "./reasoning-on-top.ts";
import { type ChatRequest, readRequest } from "./request.ts";
import { openStream } from "./relay.ts";
import { upstreamBody } from "./upstream-body.ts";

/** Chat completions, as a format that is relayed. */
export const chatCompletions: RelayProtocol = {
  id: "compat_chat_completions",
  upstreamPath: () => "/chat/completions",
  credentialHeaders: (apiKey) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  readRequest,
  // A request only ever comes back to the protocol that read it.
  demandAt: (request, target) => demandAt(request as ChatRequest, target),
  upstreamBody: (request, target, names) => upstreamBody(request as ChatRequest, target, names),
  readAnswer,
  openStream,
  readRefusal,
  encodeError,
  errorSchema: ErrorSchema,
  limitHeaders,
};

/** `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` (openai-node reads them); a reset is a duration such as `12.5s`. */
function limitHeaders(state: LimitState, nowMs: number): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [kind, window] of Object.entries({ requests: state.requests, tokens: state.tokens })) {
    if (window === undefined) continue;
    headers[`x-ratelimit-limit-${kind}`] = String(window.limit);
    headers[`x-ratelimit-remaining-${kind}`] = String(window.remaining);
    headers[`x-ratelimit-reset-${kind}`] = `${Math.max(0, window.resetAtMs - nowMs) / 1000}s`;
  }
  return headers;
}
