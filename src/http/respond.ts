import type { StreamAnswer } from "../gateway/language/relay-stream.ts";
import { streamBody } from "../runtime/stream-body.ts";
import type { GatewayError } from "../core/errors.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";

/** A JSON answer of a value. */
export function respondJson(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

/** A JSON answer whose bytes, or whose text, are ready. */
export function respondBytes(
  body: Uint8Array | string,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Response {
  return new Response(body as Uint8Array<ArrayBuffer> | string, {
    status,
    headers: { "content-type": "application/json", ...headers },
  });
}

/** Server-sent events as the client takes them: nothing is read from upstream that it has no room for. */
export function respondStream(
  answer: StreamAnswer,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return new Response(
    streamBody((sink) => answer.pipe(sink), answer.cancel),
    {
      headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no", ...headers },
    },
  );
}

/** Encodes an error where the endpoint has no format of its own. */
const encodePlainly: RelayProtocol["encodeError"] = (error) => ({
  error: { message: error.message, type: error.type, param: error.param ?? null, code: error.type },
});

/** An error in the one shape, with what clients of this endpoint read besides. */
export function respondError(
  error: GatewayError,
  requestId: string,
  encode: RelayProtocol["encodeError"] = encodePlainly,
): Response {
  const headers: Record<string, string> = { ...error.headers };
  if (error.retryAfterSec !== undefined) headers["retry-after"] = String(error.retryAfterSec);
  if (error.kind === "conflict_error") headers["x-should-retry"] = "false";
  return respondJson(encode(error, requestId), error.status, headers);
}

/** The `warning` header that names what was left out or changed; none for none. */
export function warningHeader(warnings: readonly string[]): Readonly<Record<string, string>> {
  if (warnings.length === 0) return {};
  return {
    warning: warnings
      .slice(0, 16)
      .map((text) => `299 switchyard "${text}"`)
      .join(", "),
  };
}
