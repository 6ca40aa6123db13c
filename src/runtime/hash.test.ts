import { describe, expect, test } from "bun:test";
import { contentHash, createKeyedHash, deriveSecret, isSameText } from "./hash.ts";

describe("secrets for one use", () => {
  test("are the same for the same secret and label, and another for any other", () => {
    const made = deriveSecret("a secret", "signed URLs");
    expect(made).toMatch(/^[0-9a-f]{64}$/);
    expect(deriveSecret("a secret", "signed URLs")).toBe(made);
    const others = [
      deriveSecret("a secret", "signed URLs "),
      deriveSecret("a secret", "sealed text"),
      deriveSecret("another secret", "signed URLs"),
      createKeyedHash("a secret")("signed URLs"),
    ];
    expect(new Set([made, ...others]).size).toBe(5);
  });

  test("are made as RFC 5869 says", () => {
    // HMAC twice over: extract with an empty salt, then the first block of expand.
    const hmac = (key: string | Uint8Array, text: string): Uint8Array =>
      new Bun.CryptoHasher("sha256", key).update(text).digest();
    const extracted = hmac(new Uint8Array(32), "a secret");
    expect(deriveSecret("a secret", "x")).toBe(
      Buffer.from(hmac(extracted, "switchyard x\u0001")).toString("hex"),
    );
  });
});

test("texts are the same when every character is", () => {
  expect(isSameText("abc", "abc")).toBe(true);
  expect(isSameText("", "")).toBe(true);
  for (const other of ["abd", "ab", "abcd", "", "ABC", "äbc"]) expect(isSameText("abc", other)).toBe(false);
});

test("text and its bytes have the same content hash", () => {
  expect(contentHash(new TextEncoder().encode("é"))).toBe(contentHash("é"));
});
