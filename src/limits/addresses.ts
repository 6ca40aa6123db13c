import { type Groups, isIn, type Range, readAddress, readRange } from "../core/net/ip-address.ts";

/** Requests under way of each client address. */
export interface AddressLimiter {
  /** How many client addresses have any. */
  readonly size: number;
  /**
   * Counts a request until the returned function is called, by the address of its connection and its `X-Forwarded-For`.
   * `undefined`: the client has reached its bound.
   */
  admit(connected: string, forwardedFor: string | null): (() => void) | undefined;
}

/** Counts up to `most` requests of an address. Requests through `proxies` count for the proxies' clients. */
export function createAddressLimiter(most: number, proxies: readonly Range[]): AddressLimiter {
  const counts = new Map<string, number>();
  return {
    get size() {
      return counts.size;
    },
    admit(connected, forwardedFor) {
      const client = clientOf(connected, forwardedFor, proxies);
      const count = counts.get(client) ?? 0;
      if (count >= most) return undefined;
      counts.set(client, count + 1);
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        const left = (counts.get(client) as number) - 1;
        if (left === 0) counts.delete(client);
        else counts.set(client, left);
      };
    },
  };
}

/** Reads addresses and networks, `10.0.0.0/8,::1`. Throws an error that has the entry at fault. */
export function readProxies(text: string): readonly Range[] {
  return text.split(",").map((entry) => {
    const range = readRange(entry.trim());
    if (range === undefined) throw new Error(JSON.stringify(entry.trim()));
    return range;
  });
}

/**
 * Names the client of a request by the address of its connection and its `X-Forwarded-For`. It is the last address that
 * no trusted proxy has, since the client may have written anything before it. An entry that is no address counts for
 * the proxy that passed it on.
 */
export function clientOf(connected: string, forwardedFor: string | null, proxies: readonly Range[]): string {
  let client = readHop(connected) ?? [];
  const hops = (forwardedFor ?? "").split(",");
  while (proxies.some((range) => isIn(client, range))) {
    const hop = readHop(hops.pop()?.trim() ?? "");
    if (hop === undefined) break;
    client = hop;
  }
  return ownerOf(client);
}

/** An address without the port or brackets that some proxies write; IPv4 as such where a socket of IPv6 has it. */
function readHop(text: string): Groups | undefined {
  const [, bracketed, v4] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text) ?? [];
  const mapped = /^::ffff:(?=\d+\.)/i;
  return readAddress((bracketed ?? v4 ?? text).replace(mapped, ""));
}

/** The holder of an IPv6 address has all addresses with the same first 64 bits. */
function ownerOf(address: Groups): string {
  return address.slice(0, 4).join(address.length === 4 ? "." : ":");
}
