import { isAddress, isIn, type Range, readAddress, readRange } from "./ip-address.ts";

/**
 * IPv4 networks without public servers, by IANA's registry of special-purpose addresses, and those that clouds keep for
 * themselves.
 */
const NOT_PUBLIC_V4: readonly Range[] = [
  "0.0.0.0/8", // this network
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by customers of a carrier; the metadata of some clouds
  "127.0.0.0/8", // this host
  "168.63.129.16/32", // Azure's own server, as every machine there sees it
  "169.254.0.0/16", // link-local; the metadata of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; the metadata of some clouds
  "192.0.2.0/24", // documentation
  "192.31.196.0/24", // AS112, which answers for private names
  "192.52.193.0/24", // multicast relays
  "192.88.99.0/24", // relays to IPv6, given up
  "192.168.0.0/16", // private
  "192.175.48.0/24", // AS112
  "198.18.0.0/15", // benchmarks
  "198.51.100.0/24", // documentation
  "203.0.113.0/24", // documentation
  "224.0.0.0/4", // multicast
  "240.0.0.0/4", // reserved, and broadcast at its end
].map(range);

/** The only part of IPv6 for global unicast; all else (mapped, NAT64, unique local, multicast …) is not public. */
const GLOBAL_UNICAST = range("2000::/3");

/** What is special within it. */
const NOT_PUBLIC_V6: readonly Range[] = [
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID, relays
  "2001:db8::/32", // documentation
  "2002::/16", // 6to4: any IPv4 address, private ones too
  "2620:4f:8000::/48", // AS112
  "3ffe::/16", // a test network, given up
  "3fff::/20", // documentation
].map(range);

/**
 * Whether `text` is an address that anybody on the Internet could reach. Text that is no plain address is not, nor is
 * an IPv6 address that carries an IPv4 one.
 */
export function isPublicAddress(text: string): boolean {
  const groups = readAddress(text);
  if (groups === undefined) return false;
  if (groups.length === 4) return !NOT_PUBLIC_V4.some((found) => isIn(groups, found));
  return isIn(groups, GLOBAL_UNICAST) && !NOT_PUBLIC_V6.some((found) => isIn(groups, found));
}

/** Ends of names that only a local network resolves, by RFC 6761, 6762 and 8375, and ICANN's reservation. */
const HOUSE_NAMES = ["localhost", "localdomain", "local", "internal", "intranet", "private"];
const HOUSE_ENDS = [...HOUSE_NAMES, "corp", "home", "lan", "home.arpa"].map((name) => `.${name}`);

/**
 * Whether a host's name can be one of the public Internet: at least two labels, and no end for local networks. The name
 * is in lower case and ASCII, as a URL's `hostname`. A dot at the end changes nothing.
 */
export function isPublicName(hostname: string): boolean {
  const name = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
  if (name.length > 253 || !/^([a-z0-9_-]{1,63}\.)+[a-z0-9-]{1,63}$/.test(name)) return false;
  return !isAddress(name) && !HOUSE_ENDS.some((end) => name.endsWith(end) || name === end.slice(1));
}

function range(text: string): Range {
  return readRange(text) as Range;
}
