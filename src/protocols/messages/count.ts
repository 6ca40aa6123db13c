import type { TokenCounter } from "../protocol.ts";
import { messages } from "./index.ts";
import { type CountRequest, readCountRequest } from "./request.ts";
import { countBody } from "./upstream-body.ts";

/** How tokens of messages are counted: https://platform.claude.com/docs/en/api/messages-count-tokens */
export const messagesCounter: TokenCounter = {
  protocol: messages,
  upstreamPath: () => "/v1/messages/count_tokens",
  readRequest: readCountRequest,
  // A request only ever comes back to the counter that read it.
  upstreamBody: (request, target) => countBody(request as CountRequest, target),
  countIn: (answer) => answer.input_tokens,
  encodeCount: ({ total }) => ({ input_tokens: total }),
};
