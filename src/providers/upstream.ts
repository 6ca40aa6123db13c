import { joinBytes } from "../core/bytes.ts";
import { GatewayError } from "../core/errors.ts";
import type { Hold } from "../core/hold.ts";
import { fetchOnce, type OutboundRequest } from "../runtime/fetch.ts";
import type { Provider } from "./provider.ts";

/** One paid call to a provider. */
export interface UpstreamCall {
  readonly provider: Provider;
  /** Path under the provider's base address. */
  readonly path: string;
  /** Headers beside the provider's own. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly stream: boolean;
  readonly signal: AbortSignal;
}

/** A provider's answer, its body not yet read. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  /** The whole body. Rejects with `upstream_error` beyond `maxBytes`, or when the connection breaks. */
  readAll(maxBytes: number): Promise<Uint8Array>;
  /** The body as it comes. A read that rejects is explained by `failureOf`. */
  open(): ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** What a rejected read means: the signal's reason when that ended it, else `upstream_error`. */
  failureOf(cause: unknown): Error;
}

/**
 * The one way to call a provider, on the network or in this process. It takes the hold that pays for the call, so that
 * no call can be made without one; redirects are answers, not followed. Rejects with `upstream_error` when
 * no answer came, or with the signal's reason when that ended it.
 */
export async function callUpstream(_paidBy: Hold, call: UpstreamCall): Promise<UpstreamAnswer> {
  const { provider, signal } = call;
  const url = `${provider.baseUrl}${call.path}`;
  const request: OutboundRequest = {
    method: "POST",
    headers: {
      ...call.headers,
      ...provider.headers,
      "content-type": "application/json",
      accept: call.stream ? "text/event-stream" : "application/json",
      "accept-encoding": "identity",
      "user-agent": "switchyard",
    },
    body: call.body,
    signal,
  };
  let response: Response;
  try {
    response = await (provider.transport === undefined
      ? fetchOnce(url, request)
      : provider.transport(url, request));
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw cause instanceof GatewayError ? cause : unreachable(cause);
  }
  return openAnswer(response, signal);
}

function openAnswer(response: Response, signal: AbortSignal): UpstreamAnswer {
  const failureOf = (cause: unknown): Error => (signal.aborted ? (signal.reason as Error) : broken(cause));
  return {
    status: response.status,
    contentType: response.headers.get("content-type") ?? "",
    retryAfter: response.headers.get("retry-after"),
    open: () => response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined,
    failureOf,
    async readAll(maxBytes) {
      try {
        const length = response.headers.get("content-length");
        // A length that was declared is kept to by the client; without one, we count.
        const plain = (response.headers.get("content-encoding") ?? "identity") === "identity";
        if (length === null || !plain) return await readCounted(response, maxBytes);
        if (Number(length) > maxBytes) throw tooLarge();
        return new Uint8Array(await response.arrayBuffer());
      } catch (error) {
        throw error instanceof GatewayError ? error : failureOf(error);
      }
    },
  };
}

async function readCounted(response: Response, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (response.body === null) return new Uint8Array(0);
  for await (const chunk of response.body) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return joinBytes(chunks);
}

function tooLarge(): GatewayError {
  return new GatewayError("upstream_error", "The provider's answer is too large.");
}

function unreachable(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The provider could not be reached.", { cause });
}

function broken(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The provider's answer broke off.", { cause });
}
