import { withDescriptor } from "./descriptors.ts";

/** A GET to an address that was checked, under the name it was resolved from. */
export interface PinnedRequest {
  /** http or https, with the host's name; only its path and query go to the server. */
  readonly url: URL;
  /** The IP address to connect to; no other is used. */
  readonly address: string;
  /** Without a `Host`, which is that of the URL. */
  readonly headers: Headers;
  readonly signal: AbortSignal;
}

/** Sends one request; redirects are answers, bodies come as they were sent. Rejects when no answer came. */
export type PinnedFetch = (request: PinnedRequest) => Promise<Response>;

/** Options for tests. */
export interface PinOptions {
  /** Certificates, in PEM, of the authorities to trust in place of the machine's. */
  readonly authorities?: string;
}

/**
 * The runtime's HTTP client, pinned to addresses: it resolves no name.
 *
 * Measured on Bun 1.4.5, with servers on 127.0.0.1 and ::1 and an authority of our own. `fetch` is called with a URL
 * whose host is an address, a `Host` header and `tls.serverName`. It sends both as they are (SNI and header), and
 * verifies the certificate against `serverName`. It does so over IPv6 too, and through a proxy of the environment,
 * which is told the address alone (`CONNECT <address>:443`). Without `serverName` the certificate is verified against
 * the address. A pooled connection is not shared between server names; we keep none. `rejectUnauthorized: true` holds
 * also where `NODE_TLS_REJECT_UNAUTHORIZED=0` is in the environment. `decompress: false` leaves a body as it came.
 * `lookup` of `node:https` pins as well (it is asked once, for all addresses), but knows nothing of the environment's
 * proxy.
 */
export function createPinnedFetch({ authorities }: PinOptions = {}): PinnedFetch {
  return ({ url, address, headers, signal }) => {
    const host = address.includes(":") ? `[${address}]` : address;
    const port = url.port === "" ? "" : `:${url.port}`;
    const isName = url.hostname !== host;
    const sent = new Headers(headers);
    sent.set("host", url.host);
    const target = `${url.protocol}//${host}${port}${url.pathname}${url.search}`;
    const init = {
      method: "GET",
      headers: sent,
      signal,
      redirect: "manual",
      keepalive: false,
      decompress: false,
      // The runtime's own limit is coarse; the signal is ours.
      timeout: false,
      tls: {
        rejectUnauthorized: true,
        ...(isName ? { serverName: url.hostname.replace(/\.$/, "") } : {}),
        ...(authorities === undefined ? {} : { ca: authorities }),
      },
    } as BunFetchRequestInit;
    return withDescriptor(() => fetch(target, init));
  };
}
