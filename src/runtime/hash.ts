/** Hashes text under a secret: HMAC-SHA-256 as base64url. The same text gives the same hash only under the same secret. */
export function createKeyedHash(secret: string): (text: string) => string {
  const keyed = new Bun.CryptoHasher("sha256", secret);
  return (text) => keyed.copy().update(text).digest("base64url");
}

/** SHA-256 of `text` in hex. */
export function contentHash(text: string): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}

/** CRC-32 (IEEE 802.3) of `text`, as an unsigned number. */
export function checksum(text: string): number {
  return Bun.hash.crc32(text);
}
