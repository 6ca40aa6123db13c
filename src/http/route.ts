import type { TSchema } from "typebox";
import type { OpenAsset } from "../assets/assets.ts";
import type { Clock } from "../core/time/clock.ts";
import type { MemoryShare, RequestMemory } from "../core/bytes/request-memory.ts";
import type { LogFields } from "../core/log/log.ts";
import type { Admin } from "../gateway/admin/admin.ts";
import type { Operations } from "../gateway/admin/operations.ts";
import type { SessionOwner } from "../gateway/console/owner.ts";
import type { Playground } from "../gateway/console/playground.ts";
import type { Session, Sessions } from "../gateway/console/sessions.ts";
import type { RouteFilter, RouteView } from "../gateway/admin/routes.ts";
import type { AddressLimiter } from "../limits/addresses.ts";
import type { CountServices } from "../gateway/language/count-tokens.ts";
import type { MediaServices } from "../gateway/media/task.ts";
import type { RelayServices } from "../gateway/language/relay-input.ts";
import type { LargeBodyServices } from "../gateway/large-body.ts";
import type { RequestRecord } from "../gateway/request-record.ts";
import type { Caller, KeyFault } from "../core/caller.ts";
import type { RelayProtocol } from "../protocols/protocol.ts";
import type { ConsoleFiles } from "./console/files.ts";

/** What routes use; built once by the composition root. */
export interface EdgeServices {
  readonly relay: RelayServices;
  readonly counts: CountServices;
  readonly media: MediaServices;
  readonly largeBodies: LargeBodyServices;
  /** The memory that requests and their answers may take of this process. */
  readonly memory: RequestMemory;
  /** Bounds the requests of each client address, where the operator sets a bound. */
  readonly addresses: AddressLimiter | undefined;
  /** The file that a signed URL names; throws `permission_error` for every other URL. */
  readonly openAsset: (path: string, query: string) => Promise<OpenAsset>;
  readonly admin: Admin;
  readonly operations: Operations;
  readonly web: WebServices;
  /** The ways to the models that are served, as the operator sees them. */
  readonly modelRoutes: (filter: RouteFilter) => readonly RouteView[];
  /** The caller that a key belongs to, or why it is not a live key. */
  readonly authenticate: (key: string) => Caller | KeyFault | Promise<Caller | KeyFault>;
  readonly isAdminToken: (token: string) => boolean;
  /** Resolves when the gateway can take work; rejects with the reason when it cannot. */
  readonly ready: () => Promise<void>;
  /** What the process counts, as text for Prometheus. */
  readonly metrics: () => Promise<string>;
  readonly publicUrl: () => string;
  readonly version: string;
}

/** What the console is served with. */
export interface WebServices {
  readonly files: ConsoleFiles;
  readonly sessions: Sessions;
  readonly playground: Playground;
  readonly owner: (keyId: string) => Promise<SessionOwner>;
  /** Whether the sandbox serves any model. */
  readonly hasSandbox: () => boolean;
  /** Origins, other than that of the page, that result files may come from. */
  readonly fileOrigins: () => readonly string[];
  /** Names the client of a request by the address of its connection and its `X-Forwarded-For`. */
  readonly clientOf: (connected: string, forwardedFor: string | null) => string;
}

/** One request on its way through a route. */
export interface RouteContext {
  readonly services: EdgeServices;
  readonly request: Request;
  /** Path parameters, decoded once. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly requestId: string;
  readonly record: RequestRecord;
  /** The caller, on routes with access `key` or `play`; and that of a developer's session on others. */
  readonly caller: Caller | undefined;
  /** The session, on routes that take one. */
  readonly session: Session | undefined;
  /** Names the client's address. */
  address(): string;
  /**
   * The whole body, within the size limit. It is held in `memory`, with the factor for reading it as JSON. Its reader
   * releases that, unless the request ends with an error. `beforeLarge` is called before a body above 1 MiB is read, or
   * its rest.
   */
  readBody(beforeLarge?: () => Promise<void>): Promise<Uint8Array>;
  /** Answers another request as if this one's client had sent it on the same connection. */
  answer(request: Request): Promise<Response>;
  /** The memory that this request holds. */
  readonly memory: MemoryShare;
  readonly clock: Clock;
  /** Lifts the server's idle limit for this request. */
  keepOpen(): void;
  /** Restores that limit. */
  limitIdle(): void;
  /** Ends the connection of a client that takes nothing of an answer that the runtime sends by itself. */
  limitStall(): void;
  /**
   * Keeps the request under way until the returned function is called, though `handle` has returned its answer before.
   */
  untilSent(): () => void;
  /** Leaves it to the answer to finish the request's record at its own end. */
  finishesItself(): void;
  note(fields: LogFields): void;
}

/** A description of a route's answer. */
export interface RouteAnswer {
  readonly description: string;
  readonly schema?: TSchema;
  /** The media type of an answer that is text and no JSON. */
  readonly text?: string;
  /** The media types of an answer that is a file. */
  readonly files?: readonly string[];
  /** The answer may also be a stream of server-sent events. */
  readonly stream?: true;
}

/** One row of the route table: the router and the description both use it. */
export interface Route {
  readonly method: "get" | "post" | "put" | "patch" | "delete";
  /** `:name` at the start of a segment stands for that segment, `:name{.+}` for the rest of the path. */
  readonly path: string;
  /**
   * For a path that no pattern can describe: reads its parameters from the path as sent; `undefined` when it is another
   * path. May throw for a path that no other route has. `path` is then for the description alone.
   */
  readPath?(path: string, method: string): Readonly<Record<string, string>> | undefined;
  /**
   * What is asked for: an API key, the admin token, or a session of the console. The session is any, an operator's, or
   * one as the key that its calls of the playground go through.
   */
  readonly access: "public" | "key" | "admin" | "session" | "operator" | "play";
  readonly summary: string;
  readonly tag: "language" | "embeddings" | "images" | "videos" | "models" | "admin" | "console" | "service";
  readonly query?: Readonly<Record<string, TSchema>>;
  readonly body?: TSchema;
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  /** The format whose clients call this; its errors have their shape. */
  readonly protocol?: RelayProtocol;
  /** Error statuses beside 401 (where a credential is asked for), 404 of the path and 500. */
  readonly errors: readonly number[];
  handle(context: RouteContext): Promise<Response> | Response;
}

/** The credential that the route asks for. */
export function callerOf({ caller }: RouteContext): Caller {
  if (caller === undefined) throw new Error("The route was reached without a caller.");
  return caller;
}

/** Whose models a list shows: the caller's, or all of them to an operator. */
export function viewerOf(context: RouteContext): Caller {
  return context.session?.role === "operator" ? OPERATOR : callerOf(context);
}

const OPERATOR: Caller = { keyId: "", accountId: "", models: null };
