import { GatewayError } from "../core/errors.ts";
import type { Hold } from "../core/hold.ts";
import { fetchOnce } from "../runtime/fetch.ts";
import type { Provider } from "./provider.ts";

/** One paid call to a provider. */
export interface UpstreamCall {
  readonly provider: Provider;
  /** Path under the provider's base address. */
  readonly path: string;
  readonly body: Uint8Array;
  readonly stream: boolean;
  readonly signal: AbortSignal;
}

/** A provider's answer, its body not yet read. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  /** The whole body. Rejects with `upstream_error` beyond `maxBytes`. */
  readAll(maxBytes: number): Promise<Uint8Array>;
  /** The next bytes as they come; `undefined` at the end. Rejects when the connection breaks. */
  read(): Promise<Uint8Array | undefined>;
}

/**
 * The one way to call a provider. It takes the hold that pays for the call, so that no call can be made without
 * one; no header of the client goes along; redirects are answers, not followed. Rejects with `upstream_error` when
 * no answer came, or with the signal's reason when that ended it.
 */
export async function callUpstream(_paidBy: Hold, call: UpstreamCall): Promise<UpstreamAnswer> {
  const { provider, signal } = call;
  let response: Response;
  try {
    response = await fetchOnce(`${provider.baseUrl}${call.path}`, {
      method: "POST",
      headers: {
        ...provider.credentials,
        "content-type": "application/json",
        accept: call.stream ? "text/event-stream" : "application/json",
        "accept-encoding": "identity",
        "user-agent": "switchyard",
      },
      body: call.body,
      signal,
    });
  } catch (cause) {
    throw signal.aborted ? signal.reason : unreachable(cause);
  }
  return openAnswer(response, signal);
}

function openAnswer(response: Response, signal: AbortSignal): UpstreamAnswer {
  const reader = response.body?.getReader();
  const read = async (): Promise<Uint8Array | undefined> => {
    if (reader === undefined) return undefined;
    try {
      const { done, value } = await reader.read();
      return done ? undefined : value;
    } catch (cause) {
      throw signal.aborted ? signal.reason : broken(cause);
    }
  };
  return {
    status: response.status,
    contentType: response.headers.get("content-type") ?? "",
    retryAfter: response.headers.get("retry-after"),
    read,
    async readAll(maxBytes) {
      const chunks: Uint8Array[] = [];
      let length = 0;
      for (let chunk = await read(); chunk !== undefined; chunk = await read()) {
        length += chunk.length;
        if (length > maxBytes)
          throw new GatewayError("upstream_error", "The provider's answer is too large.");
        chunks.push(chunk);
      }
      return chunks.length === 1 ? (chunks[0] as Uint8Array) : joined(chunks, length);
    },
  };
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function unreachable(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The provider could not be reached.", { cause });
}

function broken(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The provider's answer broke off.", { cause });
}
