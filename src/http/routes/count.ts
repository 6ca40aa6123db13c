import { countTokens } from "../../gateway/language/count-tokens.ts";
import { handOver } from "../../core/handover.ts";
import type { TokenCounter, WireRequest } from "../../protocols/protocol.ts";
import { respondBytes, warningHeader } from "../respond.ts";
import { callerOf, type RouteContext } from "../route.ts";

/**
 * Error statuses of every endpoint that counts tokens. A provider's failure is answered with a count of our own; a body
 * without room in memory is a 503.
 */
export const COUNT_ERRORS: readonly number[] = [400, 503];

/** What a description says of every count. */
export const COUNT_NOTE =
  "With `x-switchyard-estimate: true` it is an estimate of the gateway's own, rather too high than too low; `warning` says why";

/** Reads the body and counts its input; `address` has what the path names. */
export async function handleCount(
  context: RouteContext,
  counter: TokenCounter,
  address?: WireRequest["address"],
): Promise<Response> {
  const { services, record, request } = context;
  const body = handOver(await context.readBody());
  const output = await countTokens(services.counts, {
    caller: callerOf(context),
    counter,
    wire: { headers: request.headers, ...(address === undefined ? {} : { address }) },
    body,
    memory: context.memory,
    signal: request.signal,
    record,
  });
  context.memory.hold(0);
  return respondBytes(output.body, { ...warningHeader(output.warnings), ...output.headers });
}
