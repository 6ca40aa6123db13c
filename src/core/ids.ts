import type { Random } from "./random.ts";

/** What an id names; the prefix of its text. */
export type IdPrefix = "acct" | "key" | "hold" | "req" | "grant" | "boot";

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A new id: a prefix and 128 random bits in hex, so that ids can be neither guessed nor counted. */
export function newId(prefix: IdPrefix, random: Random): string {
  let id = `${prefix}_`;
  for (const byte of random.bytes(16)) id += HEX[byte];
  return id;
}
