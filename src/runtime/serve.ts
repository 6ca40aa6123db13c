/** A handler's control over the connection of its request. */
export interface Connection {
  /** Lifts the idle limit for this request: from here on our own deadlines count. */
  keepOpen(): void;
  /** Restores the idle limit for the next request on the connection. */
  limitIdle(): void;
  /**
   * Ends the connection when its client takes nothing of this answer, or sends no next request, for as long as a reader
   * may stall. Answers with files always have this.
   */
  limitStall(): void;
  /** Whether the process has room for another request; counts the request if so. */
  hasRoom(): boolean;
  /** The client's address; `undefined` once the client has gone. */
  address(): string | undefined;
}

/** A listening server. */
export interface Listener {
  readonly port: number;
  readonly url: string;
  /** Closes connections without a request under way, except those that have not sent one yet; tells how many. */
  closeIdle(): number;
  /** Takes no new connection until `resume`; requests under way finish, and their connections end with them. */
  pause(): void;
  /** Listens again; false where it cannot. */
  resume(): boolean;
  /** Takes no new connection for good; resolves when the requests under way have ended. */
  drain(): Promise<void>;
  /** Ends every connection now. */
  stop(): Promise<void>;
}

/** What to listen with. */
export interface ServeOptions {
  readonly hostname: string;
  readonly port: number;
  /**
   * For how long a client may take nothing of an answer that the runtime sends by itself. The runtime checks every 4 s.
   */
  readonly stallSec: number;
  handle(request: Request, connection: Connection): Response | Promise<Response>;
  /** Whether the process has room for another request; counts the request if so. Absent: always. */
  readonly hasRoom?: () => boolean;
}

/** The longest idle time that the runtime allows; a request lifts it for itself by `keepOpen`. */
const IDLE_SEC = 255;

/**
 * The length from which the runtime answers 413 without a body: the largest it takes, so that the handler's own limit
 * gives the answer. The runtime leaves an unread body at the client, but for 1.4 MiB, and discards it once the answer
 * is sent. Measured on Bun 1.4.5 with 200 uploads of 30 MB that waited for their handler.
 */
const MAX_BODY_BYTES = Number.MAX_SAFE_INTEGER;

/** Starts an HTTP server. Throws an error with code `EADDRINUSE` when the port is taken. */
export function serve(options: ServeOptions): Listener {
  const { hostname } = options;
  let server: Bun.Server<undefined> | undefined = listen(options, options.port);
  const port = server.port ?? options.port;
  /** Listeners that take no connection any more, but still answer requests. */
  const ending = new Map<Bun.Server<undefined>, Promise<void>>();
  let isOver = false;

  const pause = (): void => {
    const closing = server;
    if (closing === undefined) return;
    server = undefined;
    ending.set(
      closing,
      closing.stop().finally(() => ending.delete(closing)),
    );
  };
  return {
    port,
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`,
    closeIdle: () => server?.closeIdleConnections() ?? 0,
    pause,
    resume() {
      if (isOver) return false;
      try {
        server ??= listen(options, port);
      } catch {
        return false;
      }
      return true;
    },
    async drain() {
      isOver = true;
      pause();
      await Promise.all(ending.values());
    },
    async stop() {
      isOver = true;
      pause();
      await Promise.all([...ending.keys()].map((each) => each.stop(true)));
    },
  };
}

function listen(
  { hostname, stallSec, handle, hasRoom = () => true }: ServeOptions,
  port: number,
): Bun.Server<undefined> {
  return Bun.serve({
    hostname,
    port,
    maxRequestBodySize: MAX_BODY_BYTES,
    // The runtime forgets a request's idle limit once a file is sent (measured, 1.4.5): this limit is that of files.
    idleTimeout: stallSec,
    development: false,
    // Outside development the runtime shares a port between processes unless told not to (measured, 1.4.5).
    reusePort: false,
    fetch: (request, bun) => {
      bun.timeout(request, IDLE_SEC);
      return handle(withHost(request), new OpenConnection(bun, request, { stallSec, hasRoom }));
    },
    // A handler answers its own errors. A file that was removed before its first byte was sent ends here.
    error: ({ code }) => new Response(null, { status: code === "ENOENT" ? 404 : 500 }),
  });
}

/** A class, since one is made for each request: its functions are not. */
class OpenConnection implements Connection {
  readonly #server: Bun.Server<undefined>;
  readonly #request: Request;
  readonly #stallSec: number;
  readonly hasRoom: () => boolean;

  constructor(
    server: Bun.Server<undefined>,
    request: Request,
    { stallSec, hasRoom }: Required<Pick<ServeOptions, "stallSec" | "hasRoom">>,
  ) {
    this.#server = server;
    this.#request = request;
    this.#stallSec = stallSec;
    this.hasRoom = hasRoom;
  }

  keepOpen(): void {
    this.#server.timeout(this.#request, 0);
  }

  limitIdle(): void {
    this.#server.timeout(this.#request, IDLE_SEC);
  }

  limitStall(): void {
    this.#server.timeout(this.#request, this.#stallSec);
  }

  address(): string | undefined {
    return this.#server.requestIP(this.#request)?.address;
  }
}

/**
 * A request of HTTP/1.0 needs no Host, and health checks of load balancers send none: the runtime then gives its target
 * alone as its URL. One whose Host is not valid keeps such a URL, which tells the gateway.
 */
function withHost(request: Request): Request {
  if (!request.url.startsWith("/") || request.headers.has("host")) return request;
  const hasNoBody = request.method === "GET" || request.method === "HEAD";
  return hasNoBody ? new Request(`http://localhost${request.url}`, request) : request;
}
