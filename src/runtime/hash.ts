import { hkdfSync, timingSafeEqual } from "node:crypto";
import { crc32 } from "node:zlib";

/** Hashes text under a secret: HMAC-SHA-256 as base64url. The same text gives the same hash only under the same secret. */
export function createKeyedHash(secret: string): (text: string) => string {
  const keyed = new Bun.CryptoHasher("sha256", secret);
  return (text) => keyed.copy().update(text).digest("base64url");
}

/**
 * A secret for one use, derived from the installation's (HKDF-SHA-256, RFC 5869), in hex. It reveals neither the
 * installation's secret nor that of another `label`.
 */
export function deriveSecret(secret: string, label: string): string {
  return new Uint8Array(hkdfSync("sha256", secret, "", `switchyard ${label}`, 32)).toHex();
}

/** Whether two texts are the same, in a time that does not depend on where they differ. */
export function isSameText(one: string, other: string): boolean {
  const [a, b] = [new TextEncoder().encode(one), new TextEncoder().encode(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** SHA-256 of `text` or bytes in hex. */
export function contentHash(content: string | Uint8Array): string {
  return Bun.SHA256.hash(content, "hex");
}

/** CRC-32 (IEEE 802.3) of `text` or bytes, as an unsigned number; `before` is the sum of preceding bytes. */
export function checksum(content: string | Uint8Array, before = 0): number {
  return crc32(content, before);
}

/** SHA-256 of bytes that come in pieces; `digest` ends it, in hex. */
export function createContentHash(): { update(piece: Uint8Array): void; digest(): string } {
  const hash = new Bun.CryptoHasher("sha256");
  return { update: (piece) => void hash.update(piece), digest: () => hash.digest("hex") };
}
