import { relay } from "../../gateway/language/relay.ts";
import type { RelayProtocol, WireRequest } from "../../protocols/protocol.ts";
import { respondBytes, respondStream, warningHeader } from "../respond.ts";
import { callerOf, type RouteContext } from "../route.ts";

/** Error statuses of every endpoint of a language format. */
export const RELAY_ERRORS: readonly number[] = [400, 402, 429, 502, 503, 504];

/** Reads the body and relays it in its own format; `address` is what the path said, where it says anything. */
export async function handleRelay(
  context: RouteContext,
  protocol: RelayProtocol,
  address?: WireRequest["address"],
): Promise<Response> {
  const { services, record, request } = context;
  const caller = callerOf(context);
  const body = await context.readBody();
  context.keepOpen();
  let streams = false;
  try {
    const output = await relay(services.relay, {
      caller,
      protocol,
      wire: { body, headers: request.headers, ...(address === undefined ? {} : { address }) },
      signal: request.signal,
      record,
    });
    const headers = { ...warningHeader(output.warnings), ...output.headers };
    if (output.kind === "plain") return respondBytes(output.body, headers);
    streams = true;
    const { answer } = output;
    const pipe: typeof answer.pipe = (sink) => answer.pipe(sink).finally(() => context.limitIdle());
    return respondStream({ pipe, cancel: answer.cancel }, headers);
  } finally {
    if (!streams) context.limitIdle();
  }
}
