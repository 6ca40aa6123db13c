import { isAddress } from "../../core/net/ip-address.ts";
import { isPublicAddress, isPublicName } from "../../core/net/public-address.ts";

/** Hosts that the operator allows beyond the public Internet by https. */
export interface Exceptions {
  /** `host` (ports 80 and 443) or `host:port`, a name or an address: with any address, by http too. */
  readonly allowedHosts: readonly string[];
  /** Whether public hosts may be asked by http, at port 80. */
  readonly plainHttp: boolean;
}

/** The target of a URL that may be fetched. */
export interface Target {
  readonly url: URL;
  /** One of the operator's exceptions: its addresses need not be public. */
  readonly isException: boolean;
  /** The address that stands in the URL in place of a name. */
  readonly address: string | undefined;
}

/** Why a URL is not fetched: for the log, never for a client. It tells nothing of the URL but its host. */
export class Refusal extends Error {
  readonly host: string;

  constructor(reason: string, host = "") {
    super(reason);
    this.name = "Refusal";
    this.host = host;
  }
}

/**
 * A URL that every reader understands in the same way. It has a scheme, two slashes, a host and perhaps a port, then a
 * path or a query. It has nothing that only some readers repair: white space, backslashes, percent signs or `@` in the
 * host.
 */
const PLAIN_URL = /^(https?):\/\/([^\s/?#@\\%\p{Cc}]+)(\/[^\s\\\p{Cc}]*|\?[^\s\\@\p{Cc}]*)?$/iu;
const MAX_URL = 8_192;

/**
 * Reads a URL that a client or a provider named. Throws a `Refusal` unless it may be fetched, as far as the text alone
 * tells; the addresses of its name are resolved later.
 */
export function readTarget(text: string, exceptions: Exceptions): Target {
  return checkTarget(readPlain(text, exceptions.allowedHosts), exceptions);
}

/**
 * Whether a URL leads to the public Internet, or to an exception of the operator's, as far as the text alone tells.
 * Scheme and port do not count: another reader of the URL may use others.
 */
export function leadsOutside(text: string, allowedHosts: readonly string[]): boolean {
  try {
    const target = readPlain(text, allowedHosts);
    return target.isException || isOutside(target);
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

function readPlain(text: string, allowedHosts: readonly string[]): Target {
  const [, , authority = ""] = text.length > MAX_URL ? [] : (PLAIN_URL.exec(text) ?? []);
  if (authority === "" || !URL.canParse(text)) throw new Refusal("it is no plain http(s) URL");
  const url = new URL(text);
  const bare = url.hostname.replace(/^\[|\]$/g, "");
  const address = isAddress(bare) ? bare : undefined;
  // 0x7f.1 and the like: an address must be in its plain form, whatever else a reader of URLs takes for one.
  if (address !== undefined && authority.toLowerCase().replace(/:\d*$/, "") !== url.hostname)
    throw new Refusal("its address is not written plainly", url.hostname);
  return { url, address, isException: isAllowed(url, allowedHosts) };
}

function isOutside({ url, address }: Target): boolean {
  return address === undefined ? isPublicName(url.hostname) : isPublicAddress(address);
}

/** The same for a redirect of `from`. It must not leave https. */
export function readRedirect(location: string, from: URL, exceptions: Exceptions): Target {
  if (/[\s\\\p{Cc}]/u.test(location) || !URL.canParse(location, from.href))
    throw new Refusal("it redirects to no plain URL");
  const url = new URL(location, from);
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(location);
  const target = readTarget(isAbsolute ? location : url.href, exceptions);
  if (from.protocol === "https:" && target.url.protocol !== "https:")
    throw new Refusal("it redirects from https to http", url.hostname);
  return target;
}

function checkTarget(target: Target, { plainHttp }: Exceptions): Target {
  const { url, isException } = target;
  if (isException) return target;
  if (url.protocol !== "https:" && !plainHttp) throw new Refusal("it is http", url.hostname);
  // Empty is the port of the scheme: 443 or 80.
  if (url.port !== "") throw new Refusal("its port is not that of its scheme", url.hostname);
  if (!isOutside(target)) throw new Refusal("its host is not of the public Internet", url.hostname);
  return target;
}

/** Whether text is an exception as `allowedHosts` takes them. */
export function isHostEntry(text: string): boolean {
  return readEntry(text) !== undefined;
}

function isAllowed(url: URL, entries: readonly string[]): boolean {
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  return entries.some((text) => {
    const entry = readEntry(text);
    if (entry?.hostname !== url.hostname) return false;
    return entry.port === undefined ? port === "443" || port === "80" : entry.port === port;
  });
}

function readEntry(text: string): { readonly hostname: string; readonly port?: string } | undefined {
  const [, host = "", port] = /^(\[[0-9a-f:.]+\]|[^\s/?#@\\%:[\]*]+)(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const url = `http://${host}/`;
  if (host === "" || !URL.canParse(url) || Number(port ?? 1) > 65_535 || Number(port ?? 1) === 0)
    return undefined;
  const { hostname } = new URL(url);
  return port === undefined ? { hostname } : { hostname, port: String(Number(port)) };
}
