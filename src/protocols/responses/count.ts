import type { TokenCounter } from "../protocol.ts";
import { responses } from "./index.ts";
import { readConversation, type ResponsesRequest } from "./request.ts";
import { countBody } from "./upstream-body.ts";

/** How tokens of Responses are counted: https://platform.openai.com/docs/api-reference/responses/input-tokens */
export const responsesCounter: TokenCounter = {
  protocol: responses,
  upstreamPath: () => "/responses/input_tokens",
  readRequest: readConversation,
  // A request only ever comes back to the counter that read it.
  upstreamBody: (request, target) => countBody(request as ResponsesRequest, target),
  countIn: (answer) => answer.input_tokens,
  encodeCount: ({ total }) => ({ object: "response.input_tokens", input_tokens: total }),
};
