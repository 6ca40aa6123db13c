import type { RelayProtocol } from "../protocol.ts";
import { openAiLimitHeaders } from "../limit-headers.ts";
import { readRefusal } from "../refusal.ts";
import { readAnswer } from "./answer.ts";
import { encodeError, ErrorSchema } from "./error-body.ts";
import { demandAt } from "./reasoning-on-top.ts";
import { type ChatRequest, readRequest } from "./request.ts";
import { openStream } from "./relay.ts";
import { unsigned } from "./unsigned.ts";
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
  unsigned,
  readRefusal,
  encodeError,
  errorSchema: ErrorSchema,
  limitHeaders: openAiLimitHeaders,
};
