import type { Random } from "./random.ts";

/** What an id names; the prefix of its text. */
export type IdPrefix = "acct" | "key" | "hold" | "grant" | "boot" | "books" | "img" | "vid";

/** A new id: a prefix and 128 random bits in hex, so that ids can be neither guessed nor counted. */
export function newId(prefix: IdPrefix, random: Random): string {
  return `${prefix}_${random.bytes(16).toHex()}`;
}

/**
 * A new id of a request: 48 bits of time in milliseconds, then 80 random bits. Rows of requests that are made together
 * then lie together in the store's index (docs/decisions/0004). The random part can be neither guessed nor counted.
 */
export function newRequestId(nowMs: number, random: Random): string {
  return `req_${nowMs.toString(16).padStart(12, "0")}${random.bytes(10).toHex()}`;
}
