import type { Clock } from "../core/time/clock.ts";
import { GatewayError, quoted, toGatewayError } from "../core/errors.ts";
import { newRequestId } from "../core/ids.ts";
import type { Caller } from "../core/caller.ts";
import { describeError, type Log, type LogFields, redact, refusalFields } from "../core/log/log.ts";
import type { Random } from "../core/random.ts";
import type { MemoryShare } from "../core/bytes/request-memory.ts";
import type { Meter } from "../gateway/metrics/meter.ts";
import type { Refusals } from "../gateway/refusals.ts";
import { openRequestRecord, type RequestRecord } from "../gateway/request-record.ts";
import type { Session } from "../gateway/console/sessions.ts";
import type { Connection } from "../runtime/serve.ts";
import { authenticate } from "./middleware/authenticate.ts";
import { authenticateSession, type SessionAccess, takesSession } from "./middleware/authenticate-session.ts";
import { formatOf } from "./not-found.ts";
import { answerEarly } from "./early-answer.ts";
import { readBody } from "./read-body.ts";
import { COMMON_HEADERS, respondError } from "./respond.ts";
import type { EdgeServices, Route, RouteContext } from "./route.ts";
import { createRouter, type Dispatch } from "./router.ts";

/** What the edge is made of. */
export interface AppParts {
  readonly routes: readonly Route[];
  readonly services: EdgeServices;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Counts requests; absent: they are not counted. */
  readonly meter?: Meter | undefined;
  /** Notes requests that are refused before a hold; absent: they are not noted. */
  readonly refusals?: Pick<Refusals, "note">;
}

/** Characters of a path that are logged. */
const MAX_LOGGED_PATH = 512;

/** The HTTP interface as one function; no socket is needed to try it. */
export type App = (request: Request, connection: Connection) => Promise<Response>;

/** Puts the route table behind ids, authentication, limits, errors and the access log. */
export function createApp({ routes, services, clock, random, log, meter, refusals }: AppParts): App {
  const router = createRouter(routes);
  const loggedPaths = new Map(routes.map(({ path }) => [path, loggedPath(path)]));
  const isModel = (id: string): boolean => services.relay.offer().catalog.knownById(id).length > 0;

  const app: App = async (request, connection) => {
    const { url, method } = request;
    const path = pathOf(url);
    const requestId = newRequestId(clock.nowMs(), random);
    const logged = loggedPaths.get(path) ?? loggedPath(path);
    const record = openRequestRecord(log, clock, { requestId, method, path: logged }, meter, refusals);
    const exchange = new Exchange({ services, app, request, url, connection, clock, record });
    let response: Response;
    try {
      refuseOddRequest(request, url, path);
      response = await router(path, request, exchange);
    } catch (error) {
      response = respondError(
        errorOf(error, record, request.signal, isModel),
        requestId,
        (exchange.route === undefined ? formatOf(path) : exchange.route.protocol)?.encodeError,
      );
      response = await exchange.end(response);
    }
    if (!exchange.isSending) exchange.leave();
    decorate(response.headers, requestId, exchange.route);
    if (!exchange.hasOwnEnd) record.finish(request.signal.aborted ? 499 : response.status);
    return response;
  };
  return app;
}

/** What an exchange is made of. */
interface ExchangeParts extends Pick<RouteContext, "services" | "request" | "clock" | "record"> {
  readonly app: App;
  readonly url: string;
  readonly connection: Connection;
}

/** One request from its routing to its answer. A class, since one is made for each: its functions are not. */
class Exchange implements RouteContext, Dispatch {
  services: EdgeServices;
  readonly request: Request;
  readonly requestId: string;
  readonly record: RequestRecord;
  readonly clock: Clock;
  readonly #app: App;
  readonly #url: string;
  readonly #connection: Connection;
  params: RouteContext["params"] = {};
  caller: Caller | undefined;
  session: Session | undefined;
  /** The route of the path, whatever the method; `undefined` while none is found. */
  route: Route | undefined;
  /** Frees the request's place among those of its address. */
  leave: () => void = nothing;
  /** The answer's bytes are still under way when the route has answered. */
  isSending = false;
  /** The answer finishes the record. */
  hasOwnEnd = false;
  #hasBody = false;
  #memory: MemoryShare | undefined;

  constructor({ services, app, request, url, connection, clock, record }: ExchangeParts) {
    this.services = services;
    this.#app = app;
    this.request = request;
    this.requestId = record.requestId;
    this.record = record;
    this.clock = clock;
    this.#url = url;
    this.#connection = connection;
  }

  at(route: Route | undefined): void {
    this.route = route;
    this.record.at(route?.path);
  }

  run(route: Route, params: RouteContext["params"]): Promise<Response> | Response {
    this.at(route);
    this.params = params;
    const { services, request } = this;
    if (route.access === "key" || route.access === "play") {
      if (!this.#connection.hasRoom()) throw outOfRoom("The gateway has as many connections as it can.");
      this.leave = admitAddress(services.addresses, this.#connection, request);
    }
    if (takesSession(route.access)) return this.#inSession(route, route.access);
    const known = authenticate(services, route.access, request);
    return known instanceof Promise
      ? known.then((caller) => this.#handle(route, caller))
      : this.#handle(route, known);
  }

  async #inSession(route: Route, access: SessionAccess): Promise<Response> {
    const admitted = await authenticateSession(this.services, access, this.request);
    this.session = admitted.session;
    this.services = admitted.services;
    this.note({ session: admitted.session.role });
    return this.#handle(route, admitted.caller);
  }

  #handle(route: Route, caller: Caller | undefined): Promise<Response> | Response {
    this.caller = caller;
    if (caller !== undefined) this.note({ key_id: caller.keyId, account_id: caller.accountId });
    // Clients of the interface may add query members of their own; an operator's filters must be exact.
    if (EXACT.has(route.access)) refuseOddQuery(route, this.query);
    this.#memory = this.services.memory.open(caller?.keyId ?? route.access);
    return route.handle(this);
  }

  get query(): URLSearchParams {
    return new URL(this.#url).searchParams;
  }

  address(): string {
    const forwarded = this.request.headers.get("x-forwarded-for");
    return this.services.web.clientOf(this.#connection.address() ?? "", forwarded);
  }

  get memory(): MemoryShare {
    if (this.#memory === undefined) throw new Error("The request has no route.");
    return this.#memory;
  }

  readBody(beforeLarge?: () => Promise<void>): Promise<Uint8Array> {
    const { request, clock, memory, record } = this;
    record.waits();
    return readBody(request, { clock, memory, beforeLarge, onRead: () => this.#sawBody() });
  }

  #sawBody(): void {
    this.#hasBody = true;
    this.record.goesOn();
  }

  answer(request: Request): Promise<Response> {
    return this.#app(request, this.#connection);
  }

  keepOpen(): void {
    this.#connection.keepOpen();
  }

  limitIdle(): void {
    this.#connection.limitIdle();
  }

  limitStall(): void {
    this.#connection.limitStall();
  }

  untilSent(): () => void {
    this.isSending = true;
    return this.leave;
  }

  finishesItself(): void {
    this.hasOwnEnd = true;
  }

  note(fields: LogFields): void {
    this.record.note(fields);
  }

  /** The answer of a request that failed: it holds no memory, and the rest of its body is dropped. */
  end(answer: Response): Promise<Response> | Response {
    this.#memory?.hold(0);
    return this.#hasBody ? answer : answerEarly(answer, this.request, this.clock);
  }
}

/** Access by which a query must be known in full. */
const EXACT: ReadonlySet<Route["access"]> = new Set(["admin", "session", "operator"]);

function nothing(): void {}

/** Counts the request for its client address, until the returned function is called or the client has gone. */
function admitAddress(
  addresses: EdgeServices["addresses"],
  connection: Connection,
  request: Request,
): () => void {
  const address = addresses === undefined ? undefined : connection.address();
  if (addresses === undefined || address === undefined) return nothing;
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
function refuseOddRequest({ method, headers }: Request, url: string, path: string): void {
  if (!url.startsWith("http") || method === "CONNECT" || method === "TRACE") {
    throw new GatewayError("invalid_request_error", "The request's target or Host header is not valid.");
  }
  // Of two Host headers the URL has the first alone.
  if (headers.get("host")?.includes(",") === true) {
    throw new GatewayError("invalid_request_error", "The request has more than one Host header.");
  }
  if (!url.includes("%")) return;
  // No text that is stored or looked up has a NUL, and PostgreSQL takes none.
  if (url.includes("%00")) throw new GatewayError("invalid_request_error", "The target has a NUL in it.");
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
function loggedPath(path: string): string {
  return path
    .split("/")
    .map((segment) => redact(segment))
    .join("/")
    .slice(0, MAX_LOGGED_PATH);
}

function errorOf(
  error: unknown,
  record: RequestRecord,
  signal: AbortSignal,
  isModel: (text: string) => boolean,
): GatewayError {
  if (signal.aborted) record.note({ outcome: "client_gone" });
  const known = toGatewayError(error);
  record.refused(known.kind);
  record.note(known.status >= 500 ? { error: describeError(known) } : refusalFields(known, isModel));
  if (known.operatorHint !== undefined) record.note({ operator_hint: known.operatorHint });
  return known;
}

function decorate(headers: Headers, requestId: string, route: Route | undefined): void {
  headers.set("x-request-id", requestId);
  headers.set("request-id", requestId);
  const isOfSession = route !== undefined && takesSession(route.access);
  if (isOfSession) {
    headers.set("vary", "cookie");
    headers.set("cache-control", COMMON_HEADERS["cache-control"]);
    headers.delete("etag");
  }
  if (headers.has("x-content-type-options")) return;
  for (const [name, value] of Object.entries(COMMON_HEADERS))
    if (!KEPT.has(name) || !headers.has(name)) headers.set(name, value);
}

/** Common headers that an answer may have otherwise. */
const KEPT: ReadonlySet<string> = new Set(["cache-control", "vary"]);

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
