import type { Clock } from "../../core/time/clock.ts";
import { declaredLength } from "../../core/declared-length.ts";
import { GatewayError } from "../../core/errors.ts";
import { describeError, type Log } from "../../core/log/log.ts";
import { isPublicAddress } from "../../core/net/public-address.ts";
import { createTimeLimit, type TimeLimit } from "../../core/time/time-limit.ts";
import { unlessAborted } from "../../core/time/unless-aborted.ts";
import { createPinnedFetch, type PinnedFetch } from "../../runtime/pinned-fetch.ts";
import { type Resolve, resolveName } from "../../runtime/resolve.ts";
import { type Exceptions, readRedirect, readTarget, Refusal, type Target } from "./target.ts";

/** A file that is being fetched. */
export interface FetchedFile {
  /**
   * Its bytes as they come, each piece once, never more than allowed. A caller that does not read them leaves nothing
   * open.
   */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Its length, where the server declares it. */
  readonly length: number | undefined;
}

export interface GuardedFetchOptions {
  /** A longer file is refused. */
  readonly maxBytes: number;
  /**
   * Time limit for the whole fetch, redirects included, until the last byte. The time between the head and the caller's
   * first read does not count: the caller may have to wait for room.
   */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Sent to the origin of `url` only: a redirect to another origin goes without them. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Exceptions of this fetch beside the operator's: the provider's own server, for a URL that the provider named. */
  readonly allowedHosts?: readonly string[];
}

/**
 * Fetches a file from a URL that a client or a provider named, and resolves with the result of `take`. Rejects with the
 * signal's reason, with an error of `take` itself, or with one and the same `invalid_request_error` for every fault of
 * the fetch. A host that is refused, one that is missing and one that is silent thus look the same.
 */
export type GuardedFetch = <Taken>(
  url: string,
  options: GuardedFetchOptions,
  take: (file: FetchedFile) => Promise<Taken>,
) => Promise<Taken>;

export interface GuardedFetchParts {
  /** The operator's exceptions, as `Exceptions.allowedHosts`. */
  allowedHosts(): readonly string[];
  /** Whether public hosts may be asked by http; absent is no. */
  plainHttp?(): boolean;
  readonly resolve?: Resolve;
  readonly connect?: PinnedFetch;
  readonly clock: Clock;
  readonly log: Log;
}

/** For the addresses of a name and the head of an answer, each time anew. */
const HEADER_MS = 10_000;
const MAX_REDIRECTS = 3;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Sent with every request, whatever headers it has. */
const OWN_HEADERS = [
  ["accept", "*/*"],
  ["accept-encoding", "identity"],
  ["user-agent", "switchyard"],
] as const;

/** The one text of every refusal. */
const REFUSED =
  "A file could not be fetched from its URL. The URL must be a plain https URL of a public host, at port 443, that gives a file of the wanted kind and of moderate size, at once and with at most 3 redirects. A data URI works too.";

/**
 * The one way to fetch URLs of clients and providers. Only https at its own port (http too, where the operator allows
 * it). Only hosts whose addresses are all public, connected to at an address that was checked, or hosts that the
 * operator excepted. No credentials but the given headers, no cookies, no content codings.
 */
export function createGuardedFetch(parts: GuardedFetchParts): GuardedFetch {
  const { clock, log } = parts;
  return async (url, options, take) => {
    const over = new AbortController();
    const stop = AbortSignal.any([over.signal, options.signal]);
    const time = createTimeLimit(clock, options.timeoutMs, () => over.abort(new Refusal("it took too long")));
    const way: Way = { parts, options, stop, at: undefined };
    let isTaken = false;
    time.goOn();
    try {
      const file = openFile(await follow(url, way), way, time);
      isTaken = true;
      return await take(file);
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      // A fault of the file is a refusal; all other errors are the caller's.
      if (isTaken && !(error instanceof Refusal)) throw error;
      const reason = error instanceof Refusal ? error : new Refusal(failureWords(error));
      const host = (reason.host || way.at?.hostname) ?? "";
      log.info("a URL was not fetched", { host: host.slice(0, 100), error: describeError(reason) });
      throw new GatewayError("invalid_request_error", REFUSED, { cause: reason });
    } finally {
      time.rest();
      // Closes a connection that is still open; one whose file was read whole is closed already.
      over.abort(new Refusal("it has ended"));
    }
  };
}

/** One fetch on its way. */
interface Way {
  readonly parts: GuardedFetchParts;
  readonly options: GuardedFetchOptions;
  /** Aborted when the fetch must stop. */
  readonly stop: AbortSignal;
  /** Its stage. */
  at: URL | undefined;
}

/** The answer that is not a redirect. */
async function follow(text: string, way: Way): Promise<Response> {
  const { parts, options } = way;
  const exceptions: Exceptions = {
    allowedHosts: [...parts.allowedHosts(), ...(options.allowedHosts ?? [])],
    plainHttp: parts.plainHttp?.() ?? false,
  };
  let target = readTarget(text, exceptions);
  let headers = options.headers ?? {};
  for (let redirects = 0; ; redirects += 1) {
    way.at = target.url;
    const response = await ask(target, headers, way);
    const location = REDIRECTS.has(response.status) ? response.headers.get("location") : null;
    if (location === null) return response;
    leave(response);
    if (redirects === MAX_REDIRECTS) throw new Refusal("it redirects too often");
    const next = readRedirect(location, target.url, exceptions);
    if (next.url.origin !== target.url.origin) headers = {};
    target = next;
  }
}

/** The head of the answer, by the first address that gives one. */
async function ask(target: Target, headers: Readonly<Record<string, string>>, way: Way): Promise<Response> {
  const { connect = createPinnedFetch() } = way.parts;
  const addresses = await addressesOf(target, way);
  const sent = new Headers(headers);
  for (const [name, value] of OWN_HEADERS) sent.set(name, value);
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await withinHeaderTime(way, (signal) =>
        connect({
          url: target.url,
          address,
          headers: sent,
          signal,
        }),
      );
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Checked addresses, at most one of each family: a second one is for machines that have only the other. */
async function addressesOf({ url, address, isException }: Target, way: Way): Promise<readonly string[]> {
  if (address !== undefined) return [address];
  const { resolve = resolveName } = way.parts;
  const all = await withinHeaderTime(way, () => resolve(url.hostname));
  if (all.length === 0) throw new Refusal("its name has no address");
  if (!isException && !all.every(isPublicAddress))
    throw new Refusal("its name has an address that is not public");
  const isV6 = (text: string): boolean => text.includes(":");
  const [first = ""] = all;
  const other = all.find((text) => isV6(text) !== isV6(first));
  return other === undefined ? [first] : [first, other];
}

/** The result of `run`, unless the fetch is stopped before or it takes longer than a head may. */
async function withinHeaderTime<T>(
  { parts, stop }: Way,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const timer = parts.clock.setTimer(HEADER_MS, () => late.abort(new Refusal("it does not answer")));
  const signal = AbortSignal.any([stop, late.signal]);
  try {
    signal.throwIfAborted();
    return await unlessAborted(run(signal), signal);
  } finally {
    timer.cancel();
  }
}

/**
 * The file of an answer, of which nothing was read yet. Its time limit rests until the caller reads it, and once it was
 * read.
 */
function openFile(response: Response, way: Way, time: TimeLimit): FetchedFile {
  const { status, headers } = response;
  if (status !== 200) throw new Refusal(`it answers with status ${status}`);
  if ((headers.get("content-encoding") ?? "identity").trim().toLowerCase() !== "identity")
    throw new Refusal("its file is encoded, though it was asked for as it is");
  const length = declaredLength(headers);
  if (length !== undefined && length > way.options.maxBytes) throw tooLarge();
  time.rest();
  return { pieces: piecesOf(response, way, time), length };
}

async function* piecesOf(
  response: Response,
  { options, stop }: Way,
  time: TimeLimit,
): AsyncGenerator<Uint8Array> {
  time.goOn();
  let length = 0;
  const reader = response.body?.getReader();
  for (;;) {
    const piece = reader === undefined ? undefined : await nextPiece(reader, stop);
    if (piece === undefined) break;
    length += piece.length;
    if (length > options.maxBytes) throw tooLarge();
    yield piece;
  }
  if (length === 0) throw new Refusal("its file is empty");
  time.rest();
}

async function nextPiece(
  reader: Pick<ReadableStreamDefaultReader<Uint8Array>, "read">,
  stop: AbortSignal,
): Promise<Uint8Array | undefined> {
  try {
    return (await unlessAborted(reader.read(), stop)).value;
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(failureWords(error));
  }
}

function tooLarge(): Refusal {
  return new Refusal("its file is too large");
}

/** Discards the body of an answer. */
function leave(response: Response): void {
  response.body?.cancel().catch(() => {});
}

/** The code of an error alone: the runtime's messages repeat the whole URL, which may carry a signature. */
function failureWords(error: unknown): string {
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
  return `its server could not be asked: ${code === "" ? "no code" : code}`;
}
