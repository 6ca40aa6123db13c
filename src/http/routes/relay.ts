import { type LargeBodyRequest, refuseUnread } from "../../gateway/large-body.ts";
import { relay } from "../../gateway/language/relay.ts";
import type { StreamAnswer } from "../../gateway/language/relay-stream.ts";
import { handOver } from "../../core/handover.ts";
import type { RelayProtocol, WireRequest } from "../../protocols/protocol.ts";
import { respondStream, respondWhole, warningHeader } from "../respond.ts";
import { callerOf, type RouteContext } from "../route.ts";

/** Error statuses of every endpoint of a language format. */
export const RELAY_ERRORS: readonly number[] = [400, 402, 429, 502, 503, 504];

/** What a path says of a request. */
export interface RelayTerms extends Pick<WireRequest, "address"> {
  /** See `RelayInput`. */
  readonly compacts?: true;
}

/** Reads the body and relays it in its own format. */
export async function handleRelay(
  context: RouteContext,
  protocol: RelayProtocol,
  { address, compacts }: RelayTerms = {},
): Promise<Response> {
  const { services, record, request } = context;
  const caller = callerOf(context);
  const asked: LargeBodyRequest = {
    caller,
    endpoint: protocol.id,
    format: protocol,
    record,
    ...(address === undefined ? {} : { model: address.model }),
  };
  const body = handOver(await context.readBody(() => refuseUnread(services.largeBodies, asked)));
  context.keepOpen();
  try {
    const output = await relay(services.relay, {
      caller,
      protocol,
      compacts,
      wire: { headers: request.headers, address },
      body,
      memory: context.memory,
      signal: request.signal,
      record,
    });
    const headers =
      output.warnings.length === 0
        ? output.headers
        : { ...warningHeader(output.warnings), ...output.headers };
    if (output.kind === "stream") {
      context.finishesItself();
      return respondStream(untilSent(output.answer, context), headers);
    }
    context.limitIdle();
    return respondWhole(context, output.body, headers);
  } catch (error) {
    context.limitIdle();
    throw error;
  }
}

/** The answer; the request stays under way, and without the idle limit, until it is sent or its client has gone. */
function untilSent(answer: StreamAnswer, context: RouteContext): StreamAnswer {
  const sent = context.untilSent();
  return {
    pipe: (sink) =>
      answer.pipe(sink).finally(() => {
        context.limitIdle();
        sent();
      }),
    cancel() {
      sent();
      answer.cancel();
    },
  };
}
