import { lookup } from "node:dns/promises";

/** All addresses of a host's name, IPv4 and IPv6, in the order in which they are best tried. Rejects when it has none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** The machine's own way to resolve names, `/etc/hosts` and name servers, as its configuration says. */
export const resolveName: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);
