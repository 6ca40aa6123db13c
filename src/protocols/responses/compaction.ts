import { GatewayError } from "../../core/errors.ts";
import { NO_USAGE } from "../../core/money/usage.ts";
import { type AnswerFormat, readWholeAnswer } from "../answer-json.ts";
import type { RelayProtocol } from "../protocol.ts";
import { responses } from "./index.ts";
import { readConversation, type ResponsesRequest } from "./request.ts";
import { compactBody } from "./upstream-body.ts";
import { encodeUsage, readUsage } from "./usage.ts";

const FORMAT: AnswerFormat = {
  usageMember: "usage",
  read(value, { expectedInput }) {
    if (!Array.isArray(value.output))
      throw new GatewayError("upstream_error", "The provider's answer has no output.");
    // What it put out is sealed: without its count the input alone is charged.
    const estimated = { usage: { ...NO_USAGE, input: expectedInput }, flags: ["estimated"] as const };
    const metered = readUsage(value) ?? estimated;
    return { metered, usage: metered.flags.length === 0 ? undefined : encodeUsage(metered.usage) };
  },
};

/** The request without a bound on output, which is no field of it: a summary that is cut off is of no use. */
function unbounded({ body, demand, ...rest }: ResponsesRequest): ResponsesRequest {
  const { max_output_tokens: _field, ...asked } = body;
  const { maxOutputTokens: _bound, ...whole } = demand;
  return { ...rest, body: asked, demand: whole };
}

/**
 * A conversation made shorter by the provider: https://platform.openai.com/docs/api-reference/responses/compact. It is
 * never streamed.
 */
export const compaction: RelayProtocol = {
  ...responses,
  upstreamPath: () => "/responses/compact",
  readRequest: (wire) => unbounded(readConversation(wire)),
  // A request only ever comes back to the protocol that read it.
  upstreamBody: (request, target) => compactBody(request as ResponsesRequest, target),
  readAnswer: (received, context) => readWholeAnswer(FORMAT, received, context),
};
