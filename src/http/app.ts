import type { Clock } from "../core/time/clock.ts";
import { GatewayError, quoted, toGatewayError } from "../core/errors.ts";
import { newRequestId } from "../core/ids.ts";
import { describeError, type Log, redact, refusalFields } from "../core/log/log.ts";
import type { Random } from "../core/random.ts";
import type { MemoryShare } from "../core/bytes/request-memory.ts";
import { openRequestRecord } from "../gateway/request-record.ts";
import type { Connection } from "../runtime/serve.ts";
import { authenticate } from "./middleware/authenticate.ts";
import { formatOf } from "./not-found.ts";
import { answerEarly } from "./early-answer.ts";
import { readBody } from "./read-body.ts";
import { respondError } from "./respond.ts";
import type { EdgeServices, Route, RouteContext } from "./route.ts";
import { createRouter } from "./router.ts";

/** What the edge is made of. */
export interface AppParts {
  readonly routes: readonly Route[];
  readonly services: EdgeServices;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Characters of a path that are logged. */
const MAX_LOGGED_PATH = 512;

/** The HTTP interface as one function; no socket is needed to try it. */
export type App = (request: Request, connection: Connection) => Promise<Response>;

/** Puts the route table behind ids, authentication, limits, errors and the access log. */
export function createApp({ routes, services, clock, random, log }: AppParts): App {
  const router = createRouter(routes);

  return async (request, connection) => {
    const requestId = newRequestId(clock.nowMs(), random);
    const record = openRequestRecord(log, clock, {
      requestId,
      method: request.method,
      path: loggedPath(request.url),
    });
    let streams = false;
    let hasBody = false;
    let memory: MemoryShare | undefined;
    let response: Response;
    let at: Route | undefined;
    let leave = (): void => {};
    let isSending = false;
    try {
      refuseOddRequests(request);
      response = await router(pathOf(request.url), request, {
        at: (route) => (at = route),
        run: async (route, params) => {
          at = route;
          if (route.access === "key") {
            if (!connection.hasRoom()) throw outOfRoom("The gateway has as many connections as it can.");
            leave = admitAddress(services.addresses, connection, request);
          }
          const caller = await authenticate(services, route.access, request);
          if (caller !== undefined) record.note({ key_id: caller.keyId, account_id: caller.accountId });
          // Clients of the interface may add query members of their own; an operator's filters must be exact.
          if (route.access === "admin") refuseOddQuery(route, new URL(request.url).searchParams);
          const share = services.memory.open(caller?.keyId ?? route.access);
          memory = share;
          const context: RouteContext = {
            services,
            request,
            params,
            get query() {
              return new URL(request.url).searchParams;
            },
            requestId,
            record,
            caller,
            async readBody(beforeLarge) {
              const body = await readBody(request, { clock, memory: share, beforeLarge });
              hasBody = true;
              return body;
            },
            memory: share,
            clock,
            keepOpen: () => connection.keepOpen(),
            limitIdle: () => connection.limitIdle(),
            limitStall: () => connection.limitStall(),
            untilSent() {
              isSending = true;
              return leave;
            },
            note: record.note,
          };
          return route.handle(context);
        },
      });
      streams = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
    } catch (error) {
      memory?.hold(0);
      response = respondError(
        errorOf(
          error,
          record.note,
          request.signal,
          (id) => services.relay.offer().catalog.knownById(id).length > 0,
        ),
        requestId,
        (at === undefined ? formatOf(pathOf(request.url)) : at.protocol)?.encodeError,
      );
      if (!hasBody) response = await answerEarly(response, request, clock);
    }
    if (!isSending) leave();
    decorate(response.headers, requestId);
    if (!streams) record.finish(request.signal.aborted ? 499 : response.status);
    return response;
  };
}

/** Counts the request for its client address, until the returned function is called or the client has gone. */
function admitAddress(
  addresses: EdgeServices["addresses"],
  connection: Connection,
  request: Request,
): () => void {
  const address = addresses === undefined ? undefined : connection.address();
  if (addresses === undefined || address === undefined) return () => {};
  const leave = addresses.admit(address, request.headers.get("x-forwarded-for"));
  if (leave === undefined) throw outOfRoom("This address has as many connections as it may.");
  request.signal.addEventListener("abort", leave, { once: true });
  return leave;
}

/** The refusal ends the connection, so that another client can have it. */
function outOfRoom(why: string): GatewayError {
  return new GatewayError("overloaded_error", `${why} Try again.`, {
    retryAfterSec: 2,
    headers: { connection: "close" },
  });
}

/**
 * Refuses requests whose target cannot be trusted. With an invalid Host the runtime gives a relative URL, by which a
 * router could be led to another path.
 */
function refuseOddRequests(request: Request): void {
  if (!request.url.startsWith("http") || request.method === "CONNECT" || request.method === "TRACE") {
    throw new GatewayError("invalid_request_error", "The request's target or Host header is not valid.");
  }
  const host = request.headers.get("host");
  if (host !== null && host.includes(",")) {
    throw new GatewayError("invalid_request_error", "The request has more than one Host header.");
  }
  // No text that is stored or looked up has a NUL, and PostgreSQL takes none.
  if (request.url.includes("%00"))
    throw new GatewayError("invalid_request_error", "The target has a NUL in it.");
  const path = pathOf(request.url);
  if (!path.includes("%")) return;
  try {
    decodeURIComponent(path);
  } catch {
    throw new GatewayError("invalid_request_error", "The path is not valid percent-encoded UTF-8.");
  }
}

/** Path of an absolute URL, as it was sent; without the query, which may hold secrets. */
function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("//") + 2);
  if (start === -1) return "/";
  const query = url.indexOf("?", start);
  return url.slice(start, query === -1 ? undefined : query);
}

/** The path without segments that look like a secret; ids of tasks stay, so that the log can be searched by them. */
function loggedPath(url: string): string {
  return pathOf(url)
    .split("/")
    .map((segment) => redact(segment))
    .join("/")
    .slice(0, MAX_LOGGED_PATH);
}

function errorOf(
  error: unknown,
  note: RouteContext["note"],
  signal: AbortSignal,
  isModel: (text: string) => boolean,
): GatewayError {
  if (signal.aborted) note({ outcome: "client_gone" });
  const known = toGatewayError(error);
  note(known.status >= 500 ? { error: describeError(known) } : refusalFields(known, isModel));
  if (known.operatorHint !== undefined) note({ operator_hint: known.operatorHint });
  return known;
}

function decorate(headers: Headers, requestId: string): void {
  headers.set("x-request-id", requestId);
  headers.set("request-id", requestId);
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  headers.set("vary", "authorization, x-api-key, x-goog-api-key");
  headers.set("x-content-type-options", "nosniff");
}

/**
 * Refuses a query with an unknown name, or with one twice: a mistyped filter must not return everything. Throws a 400
 * that names it.
 */
function refuseOddQuery({ query = {} }: Pick<Route, "query">, given: URLSearchParams): void {
  const seen = new Set<string>();
  for (const name of given.keys()) {
    const told = name.slice(0, 64);
    if (!Object.hasOwn(query, name)) throw odd(`${quoted(told)} is not known here. ${takes(query)}`, told);
    if (seen.has(name)) throw odd(`${quoted(told)} stands twice in the query: send it once.`, told);
    seen.add(name);
  }
}

function takes(query: NonNullable<Route["query"]>): string {
  const names = Object.keys(query);
  return names.length === 0 ? "This path takes no query." : `The query takes ${names.join(", ")}.`;
}

function odd(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
