import { joinBytes, lengthOf, type Pieces } from "../core/bytes/bytes.ts";
import { declaredLength } from "../core/declared-length.ts";
import { GatewayError } from "../core/errors.ts";
import type { Handover } from "../core/handover.ts";
import type { Hold } from "../core/money/hold.ts";
import { fetchOnce, type OutboundRequest } from "../runtime/fetch.ts";
import { type CountPermit, type ListPermit, spendPermit } from "./permits.ts";
import type { SpokenProtocol } from "./provider.ts";
import { mayBeOutOfReach, noteAnswer, NotSent, type SendLimits, sendInPieces } from "./sending.ts";

/** One call to a provider. */
export interface UpstreamCall {
  /** Of language models or of media. */
  readonly provider: Pick<SpokenProtocol, "baseUrl" | "headers" | "transport">;
  /** Absent: POST. */
  readonly method?: OutboundRequest["method"];
  /** Path under the provider's base address, or a whole URL of the same origin: the credential goes nowhere else. */
  readonly path: string;
  /** Headers beside the provider's own. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; absent for a call that has none. */
  readonly body?: Handover<Pieces>;
  /** Told once nothing of a large body is held any more. A small one is kept until the answer has ended. */
  readonly onSent?: (() => void) | undefined;
  readonly stream: boolean;
  readonly signal: AbortSignal;
  /** Absent: the signal alone ends the sending. */
  readonly limits?: SendLimits | undefined;
}

/** A provider's answer, its body not yet read. */
export interface UpstreamAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | null;
  header(name: string): string | null;
  /** Whether the framing says where the body ends, so that an end before it is a failure. Else a cut looks like the end. */
  readonly tellsItsEnd: boolean;
  /**
   * The whole body. Rejects with `upstream_error` beyond `maxBytes`, or when the connection breaks. `makeRoom` is waited
   * for before so many bytes more are held.
   */
  readAll(maxBytes: number, makeRoom?: MakeRoom): Promise<Uint8Array>;
  /** The body as it comes. A read that rejects is explained by `failureOf`. */
  open(): ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** What a rejected read means: the signal's reason when that ended it, else `upstream_error`. */
  failureOf(cause: unknown): Error;
}

type MakeRoom = (bytes: number) => Promise<void> | void;

/**
 * The one way to call a provider, on the network or in this process. It takes the hold that pays for the call, or the
 * permit of a free call, so that no call can be made without either. Redirects are answers, not followed. Rejects with
 * `upstream_error` when no answer came, or with the signal's reason when that ended it.
 */
export async function callUpstream(
  paidBy: Hold | CountPermit | ListPermit,
  call: UpstreamCall,
): Promise<UpstreamAnswer> {
  spendPermit(paidBy, call);
  const { provider, signal, limits } = call;
  const url = addressOf(provider.baseUrl, call.path);
  let response: Response;
  try {
    response = await send(url, headersOf(call), call);
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw cause instanceof GatewayError ? cause : unreachable(cause);
  }
  if (limits !== undefined) noteAnswer(provider, limits);
  return new OpenAnswer(response, signal, provider.transport !== undefined);
}

/** The headers of each provider's calls with a body that have none of their own: nearly all, so they are made once. */
const plainHeaders = new WeakMap<
  UpstreamCall["provider"],
  Record<"json" | "events", UpstreamCall["headers"]>
>();

function headersOf(call: UpstreamCall): UpstreamCall["headers"] {
  const { provider, headers, stream } = call;
  if (call.body === undefined || Object.keys(headers).length > 0) return newHeaders(call);
  let known = plainHeaders.get(provider);
  if (known === undefined) {
    known = { json: newHeaders({ ...call, stream: false }), events: newHeaders({ ...call, stream: true }) };
    plainHeaders.set(provider, known);
  }
  return stream ? known.events : known.json;
}

function newHeaders({ provider, headers, body, stream }: UpstreamCall): UpstreamCall["headers"] {
  return {
    ...headers,
    ...provider.headers,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    accept: stream ? "text/event-stream" : "application/json",
    "accept-encoding": "identity",
    "user-agent": "switchyard",
  };
}

/** Beyond this a body is sent in pieces, so that nobody keeps it while the answer comes. */
const LARGE_BYTES = 256 * 1024;

/** Bytes of a body of this length that its call keeps until the answer has ended. */
export function keptByCall(length: number): number {
  return length <= LARGE_BYTES ? length : 0;
}

/** Gives a request to the network, or to the provider's server in this process. */
function send(
  url: string,
  headers: Readonly<Record<string, string>>,
  { provider, method = "POST", signal, limits, onSent = nothing, body: handed }: UpstreamCall,
): Promise<Response> {
  const body = handed?.take();
  if (provider.transport !== undefined) return provider.transport(url, { method, headers, signal, body });
  const isDoubted = limits !== undefined && mayBeOutOfReach(provider, limits);
  const length = body === undefined ? 0 : lengthOf(body);
  if (body === undefined || (length <= LARGE_BYTES && !isDoubted))
    return fetchOnce(url, { method, headers, signal, body });
  const sized = { ...headers, "content-length": String(length) };
  return sendInPieces({ bytes: joinBytes(body), limits, signal, onSent }, (pieces, until) =>
    fetchOnce(url, { method, headers: sized, signal: until, body: pieces }),
  );
}

function nothing(): void {}

/** Where a call goes. A provider that names another server than its own is not given the credential for it. */
function addressOf(baseUrl: string, path: string): string {
  if (path.startsWith("/")) return `${baseUrl}${path}`;
  if (URL.canParse(path)) {
    const { origin, username, password } = new URL(path);
    if (origin === new URL(baseUrl).origin && username === "" && password === "") return path;
  }
  throw new GatewayError("upstream_error", "The provider named an address that is not its own.", {
    operatorFault: true,
  });
}

/** Whether an answer with that status leads elsewhere. None is followed. */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}

/** What is known of a call that was not answered. */
export type CallFault =
  /** Nobody took it, since no one had all of it: the same can be sent again. */
  | "not_sent"
  /** The server could not show that it is the provider: nothing was sent, and only the operator can mend it. */
  | "untrusted"
  /** It was answered by more than is read. */
  | "too_large"
  /** It may have been taken. */
  | "unknown";

/** Tells what became of a call that `callUpstream` or `readAll` rejected with `error`. */
export function callFault(error: unknown): CallFault {
  if (!(error instanceof GatewayError)) return "unknown";
  if (error.message === TOO_LARGE) return "too_large";
  if (error.operatorFault) return "untrusted";
  const { cause } = error;
  const code = codeOf(cause);
  if (UNTRUSTED.test(code)) return "untrusted";
  return cause instanceof NotSent || NOT_SENT.has(code) ? "not_sent" : "unknown";
}

/** Of the HTTP client's error. */
function codeOf(cause: unknown): string {
  const error = cause instanceof NotSent ? cause.cause : cause;
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Errors of the runtime that come before a request can go out: no address, nobody there, no connection. */
const NOT_SENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ConnectionRefused",
  "FailedToOpenSocket",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

/** Errors of a certificate or of the handshake: OpenSSL's names and those of Node. */
const UNTRUSTED = /CERT|^EPROTO$|^ERR_TLS_|^ERR_SSL_|^UNABLE_TO_|^HOSTNAME_MISMATCH$/;

/** A class, since one is made for each call: its functions are not. */
class OpenAnswer implements UpstreamAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly failureOf: UpstreamAnswer["failureOf"];
  readonly #response: Response;
  readonly #inProcess: boolean;

  constructor(response: Response, signal: AbortSignal, inProcess: boolean) {
    this.status = response.status;
    this.contentType = response.headers.get("content-type") ?? "";
    this.failureOf = explainedBy(signal);
    this.#response = response;
    this.#inProcess = inProcess;
  }

  get retryAfter(): string | null {
    return this.header("retry-after");
  }

  header(name: string): string | null {
    return this.#response.headers.get(name);
  }

  get tellsItsEnd(): boolean {
    const { headers } = this.#response;
    return this.#inProcess || headers.has("transfer-encoding") || headers.has("content-length");
  }

  open(): ReadableStreamDefaultReader<Uint8Array> | undefined {
    return this.#response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  }

  async readAll(maxBytes: number, makeRoom?: MakeRoom): Promise<Uint8Array> {
    const response = this.#response;
    try {
      const length = declaredLength(response.headers);
      // A length that was declared is kept to by the client; without one, we count.
      const plain = (response.headers.get("content-encoding") ?? "identity") === "identity";
      if (length === undefined || !plain) return await readCounted(response, maxBytes, makeRoom);
      if (length > maxBytes) {
        void response.body?.cancel().catch(() => {});
        throw tooLarge();
      }
      const room = makeRoom?.(length);
      if (room instanceof Promise) await room;
      return await response.bytes();
    } catch (error) {
      throw error instanceof GatewayError ? error : this.failureOf(error);
    }
  }
}

/** Apart from the answer, which a stream that is being read does without. */
function explainedBy(signal: AbortSignal): UpstreamAnswer["failureOf"] {
  return (cause) => (signal.aborted ? (signal.reason as Error) : broken(cause));
}

async function readCounted(
  response: Response,
  maxBytes: number,
  makeRoom: MakeRoom = () => {},
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  if (response.body === null) return new Uint8Array(0);
  for await (const chunk of response.body) {
    length += chunk.length;
    if (length > maxBytes) throw tooLarge();
    await makeRoom(chunk.length);
    chunks.push(chunk);
  }
  // They are held twice while they are joined.
  if (chunks.length > 1) await makeRoom(length);
  return joinBytes(chunks);
}

const TOO_LARGE = "The provider's answer is too large.";

function tooLarge(): GatewayError {
  return new GatewayError("upstream_error", TOO_LARGE);
}

function unreachable(cause: unknown): GatewayError {
  const operatorFault = UNTRUSTED.test(codeOf(cause));
  return new GatewayError("upstream_error", "The provider could not be reached.", { cause, operatorFault });
}

function broken(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The provider's answer broke off.", { cause });
}
