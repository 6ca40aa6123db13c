import { joinBytes, lengthOf, type Pieces, writePieces } from "../core/bytes/bytes.ts";
import { withDescriptor } from "./descriptors.ts";

/** A request that is sent once, as it is: it follows no redirect and has no time limit but the signal's. */
export interface OutboundRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Pieces | undefined;
  readonly signal: AbortSignal;
}

/**
 * A request whose body is read as it is sent. Its `content-length` must be among its headers. Measured on Bun 1.4.5:
 * with it nothing is sent in chunks, and 200 MiB of a file over TLS take 4 MiB of memory. As a `Blob` they take 400.
 */
export interface StreamedRequest extends Omit<OutboundRequest, "body"> {
  /** Gives the body from its beginning: once more where nothing of it was read. */
  readonly body: () => ReadableStream<Uint8Array>;
}

/** The runtime's HTTP client. Only the guarded calls may use it. */
export function fetchOnce(url: string, request: OutboundRequest | StreamedRequest): Promise<Response> {
  return withDescriptor(() => send(url, request));
}

/**
 * Makes the HTTP client start its thread and read the machine's certificates, by a call that fails. Measured on Bun
 * 1.4.5: the runtime ends the process when it has no free descriptor at the first call. Without one at the first call
 * by TLS it goes on without the certificates, for good.
 */
export async function warmHttpClient(): Promise<void> {
  // Only root can listen at port 1, and any answer from there fails the TLS handshake.
  const signal = AbortSignal.timeout(WARM_MS);
  await send("https://127.0.0.1:1/", { method: "GET", headers: {}, signal }).catch(() => undefined);
}

/** The time limit of the call above. */
const WARM_MS = 1_000;

function send(url: string, request: OutboundRequest | StreamedRequest): Promise<Response> {
  const { body } = request;
  return fetch(url, {
    method: request.method,
    headers: request.headers,
    body: body === undefined ? body : typeof body === "function" ? body() : joined(body),
    signal: request.signal,
    redirect: "manual",
    // The runtime's own limit ends a silent upstream at 300 s; the caller sets ours.
    timeout: false,
  } as BunFetchRequestInit);
}

/** Most bodies of agents are smaller. */
const SCRATCH_BYTES = 256 * 1024;
let scratch: Uint8Array | undefined;

/**
 * The pieces as one, where the next call's will be. Measured on Bun 1.4.5: `fetch` has copied a body of bytes when it
 * returns, and fresh memory for 125 KB costs five times as much as to copy them.
 */
function joined(pieces: Pieces): Uint8Array {
  const length = lengthOf(pieces);
  if (pieces.length === 1 || length > SCRATCH_BYTES) return joinBytes(pieces);
  scratch ??= new Uint8Array(SCRATCH_BYTES);
  writePieces(pieces, scratch);
  return scratch.subarray(0, length);
}
