import type { StreamAnswer } from "../gateway/language/relay-stream.ts";
import { roomWithin } from "../core/time/stall.ts";
import { DEFAULT_TIMEOUTS } from "../gateway/timeouts.ts";
import type { RouteContext } from "./route.ts";
import { streamBody } from "../runtime/stream-body.ts";
import { ERRORS, type GatewayError } from "../core/errors.ts";
import { chatCompletions } from "../protocols/chat-completions/index.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";
import { MOST_WARNINGS } from "../protocols/warnings.ts";

const NO_HEADERS: Readonly<Record<string, string>> = {};

const JSON_TYPE = { "content-type": "application/json" };

/** Headers of every answer beside its ids. */
export const COMMON_HEADERS = {
  "cache-control": "no-store",
  vary: "authorization, x-api-key, x-goog-api-key",
  "x-content-type-options": "nosniff",
} as const;

/** Those of a plain JSON answer, which the runtime copies faster than it reads them from an object. */
const JSON_HEADERS = new Headers({ ...JSON_TYPE, ...COMMON_HEADERS });

/** A JSON answer of a value. */
export function respondJson(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): Response {
  return respondBytes(JSON.stringify(value), headers, status);
}

/** A JSON answer whose bytes, or whose text, are ready. */
export function respondBytes(
  body: Uint8Array | string,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
  status = 200,
): Response {
  return new Response(body as Uint8Array<ArrayBuffer> | string, {
    status,
    headers: isEmpty(headers) ? JSON_HEADERS : { ...JSON_TYPE, ...headers },
  });
}

function isEmpty(headers: Readonly<Record<string, string>>): boolean {
  // Unlike `Object.keys` it makes no list.
  for (const _ in headers) return false;
  return true;
}

/** As much of an answer as the kernel takes whatever the client reads. */
const TAKEN_BYTES = 32 * 1024;

/**
 * Memory that a client that does not read may cost. A larger answer is sent in pieces, and held until the client took
 * them.
 */
const STALLED_BYTES = 256 * 1024;

const PIECE_BYTES = 64 * 1024;

/**
 * A JSON answer that may be large. It releases the request's memory once it is written. A client that takes nothing of
 * it for a minute loses its connection. A large answer is chunked, without a length: nothing else tells us when it was
 * written.
 */
export function respondWhole(
  context: Pick<RouteContext, "memory" | "clock" | "request" | "limitStall" | "untilSent">,
  body: Uint8Array | string,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
  status = 200,
): Response {
  const { memory, clock, request } = context;
  if (body.length <= STALLED_BYTES || request.signal.aborted) {
    memory.hold(0);
    if (body.length > TAKEN_BYTES) context.limitStall();
    return respondBytes(body, headers, status);
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  memory.hold(bytes.length);
  const sent = context.untilSent();
  const letGo = (): void => {
    memory.hold(0);
    sent();
  };
  request.signal.addEventListener("abort", letGo, { once: true });
  const pieces = streamBody({
    async pipe(sink) {
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
        sink.write(bytes.subarray(at, at + PIECE_BYTES));
        await roomWithin(sink.flush(), clock, DEFAULT_TIMEOUTS.stalledClientMs);
      }
      letGo();
    },
    cancel: letGo,
  });
  return new Response(pieces, { status, headers: { ...JSON_TYPE, ...headers } });
}

/** The same for a value: a list, or anything else that the kernel may not take at once. */
export function respondLong(context: Parameters<typeof respondWhole>[0], value: unknown): Response {
  return respondWhole(context, JSON.stringify(value));
}

/** Server-sent events at the client's pace: no more is read from upstream than the client has room for. */
export function respondStream(
  answer: StreamAnswer,
  headers: Readonly<Record<string, string>> = NO_HEADERS,
): Response {
  return new Response(streamBody(answer), {
    headers: { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no", ...headers },
  });
}

/** An error in the format of the endpoint's clients; in that of chat completions where it has none of its own. */
export function respondError(
  error: GatewayError,
  requestId: string,
  encode: RelayProtocol["encodeError"] = chatCompletions.encodeError,
): Response {
  const headers: Record<string, string> = { ...warningHeader(error.warnings), ...error.headers };
  if (error.retryAfterSec !== undefined) headers["retry-after"] = String(error.retryAfterSec);
  if (isFinal(error)) headers["x-should-retry"] = "false";
  return respondJson(encode(error, requestId), error.status, headers);
}

/**
 * Whether the same request always gets the same answer. SDKs retry a 409, and some agents a 401, unless they are told
 * not to; a 429 says by itself whether waiting helps.
 */
function isFinal({ status }: GatewayError): boolean {
  return status < 500 && status !== ERRORS.rate_limit_error.status;
}

/**
 * The `warning` header that names left-out or changed fields; no header for none. A text may quote the client: what no
 * header can have would make the answer a 500 after it was charged.
 */
export function warningHeader(warnings: readonly string[]): Readonly<Record<string, string>> {
  if (warnings.length === 0) return NO_HEADERS;
  return {
    warning: warnings
      .slice(0, MOST_WARNINGS)
      .map((text) => `299 switchyard "${text.replaceAll('"', "'").replace(/[^\x20-\x7e]|\\/g, "?")}"`)
      .join(", "),
  };
}
