/** A request that goes out once, as it is: no redirect is followed, no time limit but the signal's. */
export interface OutboundRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
}

/** The runtime's HTTP client. Only the guarded calls may use it. */
export function fetchOnce(url: string, request: OutboundRequest): Promise<Response> {
  return fetch(url, {
    method: request.method,
    headers: request.headers,
    ...(request.body === undefined ? {} : { body: request.body as Uint8Array<ArrayBuffer> }),
    signal: request.signal,
    redirect: "manual",
    // The runtime's own limit cuts a silent upstream at 300 s; ours are set by the caller.
    timeout: false,
  } as BunFetchRequestInit);
}
