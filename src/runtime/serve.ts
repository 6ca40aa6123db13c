/** What a handler may do to the connection that a request came on. */
export interface Connection {
  /** Lifts the idle limit for this request: from here on our own deadlines count. */
  keepOpen(): void;
  /** Puts the idle limit back, for what comes next on the connection. */
  limitIdle(): void;
}

/** A listening server. */
export interface Listener {
  readonly port: number;
  readonly url: string;
  /** Takes no new connection; resolves when the requests under way have ended. */
  drain(): Promise<void>;
  /** Ends every connection now. */
  stop(): Promise<void>;
}

/** What to listen with. */
export interface ServeOptions {
  readonly hostname: string;
  readonly port: number;
  /** Requests with a longer body are cut by the server; a handler's own limit must be below. */
  readonly maxBodyBytes: number;
  handle(request: Request, connection: Connection): Response | Promise<Response>;
}

/** The longest idle time that the runtime allows; a request lifts it for itself by `keepOpen`. */
const IDLE_SEC = 255;

/** Starts an HTTP server. Throws an error with code `EADDRINUSE` when the port is taken. */
export function serve({ hostname, port, maxBodyBytes, handle }: ServeOptions): Listener {
  const server = Bun.serve({
    hostname,
    port,
    maxRequestBodySize: maxBodyBytes,
    idleTimeout: IDLE_SEC,
    development: false,
    // Outside development the runtime shares a port between processes unless told not to (measured, 1.4.5).
    reusePort: false,
    fetch: (request, bun) =>
      handle(request, {
        keepOpen: () => bun.timeout(request, 0),
        limitIdle: () => bun.timeout(request, IDLE_SEC),
      }),
    // What a handler throws it answers by itself. A file that was removed before its first byte was sent ends here.
    error: ({ code }) => new Response(null, { status: code === "ENOENT" ? 404 : 500 }),
  });
  return {
    port: server.port ?? port,
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${server.port ?? port}`,
    drain: () => server.stop(),
    stop: () => server.stop(true),
  };
}
