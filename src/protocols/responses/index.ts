import type { RelayProtocol } from "../protocol.ts";
import { openAiLimitHeaders } from "../limit-headers.ts";
import { readRefusal } from "../refusal.ts";
import { readAnswer } from "./answer.ts";
import { demandAt } from "./demand.ts";
import { encodeError, ErrorSchema } from "./error-body.ts";
import { ownInput } from "./kept.ts";
import { openStream } from "./relay.ts";
import { readRequest, type ResponsesRequest } from "./request.ts";
import { unsigned } from "./unsigned.ts";
import { upstreamBody } from "./upstream-body.ts";

/** Responses, as a format that is relayed. */
export const responses: RelayProtocol = {
  id: "compat_responses",
  upstreamPath: () => "/responses",
  credentialHeaders: (apiKey) => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
  readRequest,
  // A request only ever comes back to the protocol that read it.
  demandAt: (request, target) => demandAt(request as ResponsesRequest, target),
  upstreamBody: (request, target, names) => upstreamBody(request as ResponsesRequest, target, names),
  ownInput(request) {
    const { own, json } = request as ResponsesRequest;
    return own ?? ownInput(json);
  },
  readAnswer,
  openStream,
  unsigned,
  readRefusal,
  encodeError,
  errorSchema: ErrorSchema,
  limitHeaders: openAiLimitHeaders,
};
