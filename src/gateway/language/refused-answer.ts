import { GatewayError } from "../../core/errors.ts";
import { describeError } from "../../core/log/log.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { AnswerContext, RelayProtocol } from "../../protocols/protocol.ts";
import { hasError } from "../../protocols/refusal.ts";
import { MOST_REFUSAL_BYTES, refusalBody } from "../../providers/refusal-body.ts";
import { isRedirect, type UpstreamAnswer } from "../../providers/upstream.ts";
import type { RequestRecord } from "../request-record.ts";
import { isGoodStatus } from "../routing/retry.ts";

/** Whether the answer has a good status and a content type that fits. */
export function isAnswer({ status, contentType }: UpstreamAnswer, stream: boolean): boolean {
  return isGoodStatus(status) && contentType.toLowerCase().includes(stream ? "text/event-stream" : "json");
}

/** The error for anything else. */
export async function refusalOf(
  answer: UpstreamAnswer,
  stream: boolean,
  protocol: Pick<RelayProtocol, "readRefusal">,
  { context, clock }: { readonly context: AnswerContext; readonly clock: Clock },
): Promise<GatewayError> {
  const { status, contentType, retryAfter } = answer;
  if (isRedirect(status)) {
    leave(answer);
    const message = "The provider answered with a redirect, which is not followed.";
    return new GatewayError("upstream_error", message, { operatorFault: true });
  }
  const isGood = isGoodStatus(status);
  // A provider that answers a streamed request with JSON says what is wrong in it.
  if (isGood && !(stream && contentType.toLowerCase().includes("json"))) {
    leave(answer);
    return noAnswer();
  }
  const body = isGood ? await answer.readAll(MOST_REFUSAL_BYTES) : await refusalBody(answer, clock);
  // It may be the whole answer, of a server that does not stream: the work was done.
  if (isGood && !hasError(body)) return noAnswer();
  return protocol.readRefusal({ status, body, retryAfter }, context);
}

function noAnswer(): GatewayError {
  const message = "The provider answered with something that is no model answer.";
  return new GatewayError("upstream_error", message);
}

/** Lets go of the connection of an answer that nobody reads: the request may go on elsewhere. */
function leave(answer: UpstreamAnswer): void {
  void answer
    .open()
    ?.cancel()
    .catch(() => {});
}

/** What upstream said goes to the log, redacted, and to nobody else. */
export function noteUpstreamError(record: RequestRecord, error: Error): void {
  const operatorFault = error instanceof GatewayError && error.operatorFault;
  record.note({ upstream_error: describeError(error), ...(operatorFault ? { operator_fault: true } : {}) });
}
