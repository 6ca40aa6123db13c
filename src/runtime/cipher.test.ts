import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createCipher } from "./cipher.ts";

const SECRET = "5e".repeat(32);
const seeded = { seed: Number(process.env.SWITCHYARD_TEST_SEED ?? "1") };
const cipher = createCipher(SECRET);

describe("sealed text", () => {
  test("opens to what it was, whatever it says", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2_000 }), (text) => {
        expect(cipher.open(cipher.seal(text))).toBe(text);
      }),
      { ...seeded, numRuns: 500 },
    );
  });

  test("may be as large as a request", () => {
    const text = JSON.stringify({ image: "é𝄞".repeat(4_000_000) });
    expect(cipher.open(cipher.seal(text)) === text).toBe(true);
  });

  test("opens in another process of the installation, and under no other secret", () => {
    const sealed = cipher.seal("a prompt");
    expect(createCipher(SECRET).open(sealed)).toBe("a prompt");
    for (const secret of ["5f".repeat(32), "5E".repeat(32), `${SECRET}0`, ""])
      expect(() => createCipher(secret).open(sealed)).toThrow("cannot be opened");
  });

  test("is another each time, and shows nothing of what it says", () => {
    const all = new Set(Array.from({ length: 1_000 }, () => cipher.seal("the same prompt")));
    expect(all.size).toBe(1_000);
    const [nonces, bodies] = [new Set<string>(), new Set<string>()];
    for (const sealed of all) {
      const bytes = Buffer.from(sealed.slice("s1.".length), "base64url");
      expect(bytes.toString("latin1")).not.toContain("prompt");
      nonces.add(bytes.subarray(0, 12).toString("hex"));
      bodies.add(bytes.subarray(12).toString("hex"));
    }
    expect([nonces.size, bodies.size]).toEqual([1_000, 1_000]);
  });

  test("with any bit changed does not open, 10,000 times", () => {
    const sealed = cipher.seal(JSON.stringify({ request: { prompt: "a lighthouse", n: 4 } }));
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.nat(7), (at, bit) => {
        const changed =
          sealed.slice(0, at) +
          String.fromCharCode(sealed.charCodeAt(at) ^ (1 << bit)) +
          sealed.slice(at + 1);
        expect(() => cipher.open(changed)).toThrow("cannot be opened");
      }),
      { ...seeded, numRuns: 10_000 },
    );
    expect(cipher.open(sealed)).toContain("lighthouse");
  });

  const sealed = cipher.seal("ab");
  const withDash = cipher.seal("-".repeat(2_000));
  for (const [name, changed] of [
    ["nothing", ""],
    ["only the mark", "s1."],
    ["text that was never sealed", "a prompt"],
    ["sealed text that was cut", sealed.slice(0, -1)],
    ["sealed text without its nonce and tag", "s1.AAAA"],
    ["sealed text with more behind", `${sealed}A`],
    ["sealed text with padding behind", `${sealed}=`],
    ["sealed text with a line break within", `${sealed.slice(0, 9)}\n${sealed.slice(9)}`],
    ["sealed text under another mark", `s2.${sealed.slice(3)}`],
    ["sealed text in the other alphabet", withDash.replaceAll("-", "+").replaceAll("_", "/")],
  ] as const) {
    test(`${name} does not open`, () => {
      expect(() => cipher.open(changed)).toThrow("cannot be opened");
    });
  }
});
