import { describe, expect, test, spyOn } from "bun:test";
import fc from "fast-check";
import { countTurns } from "../../test/gateway/turns.ts";
import { SEED } from "../../test/runs.ts";
import { createCipher } from "./cipher.ts";

const SECRET = "5e".repeat(32);
const seeded = { seed: SEED };
const cipher = createCipher(SECRET);
/** As the store gives it back. */
const seal = async (text: string): Promise<string> => Buffer.from(await cipher.seal(text)).toString("latin1");

/** What was sealed when this was written, under the same secret. */
const OLD = "s1.v98zAZMMyX-qMloVfZawk-Fy5NFbDqEY5-CWRbLOrT7y3-TnE0Z1hl0t2lyX_Ybm3Vcg";

/** What a promise that must reject says. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => "it did not reject",
    (error: unknown) => String(error),
  );
}

describe("sealed text", () => {
  test("opens to what it was, whatever it says", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary", maxLength: 2_000 }), async (text) => {
        expect(await cipher.open(await seal(text))).toBe(text);
      }),
      { ...seeded, numRuns: 500 },
    );
  });

  test("may be as large as a request", async () => {
    const text = JSON.stringify({ image: "é𝄞".repeat(4_000_000) });
    expect((await cipher.open(await seal(text))) === text).toBe(true);
  });

  test("lets others have their turns, however large it is", async () => {
    const text = "x".repeat(32 * 1024 * 1024);
    const sealing = await countTurns(() => seal(text));
    const opening = await countTurns(() => cipher.open(sealing.done));
    expect(opening.done === text).toBe(true);
    for (const { turns } of [sealing, opening]) expect(turns).toBeGreaterThan(20);
  });

  test("waits for others no more often than each mebibyte", async () => {
    const turns = spyOn(globalThis, "setImmediate");
    await cipher.open(await seal("x".repeat(4 * 1024 * 1024)));
    expect(turns.mock.calls.length).toBeLessThan(8);
    turns.mockRestore();
  });

  test("of a length about that of a part opens to what it was", async () => {
    for (const length of [1_572_835, 1_572_848, 1_572_864, 1_572_865, 3_145_728])
      for (const more of [0, 1, 2]) {
        const text = "x".repeat(length + more);
        expect((await cipher.open(await seal(text))) === text).toBe(true);
      }
  });

  test("that earlier versions sealed opens still", async () => {
    expect(await cipher.open(OLD)).toBe("a prompt, sealed before");
  });

  test("opens in another process of the installation, and under no other secret", async () => {
    const sealed = await seal("a prompt");
    expect(await createCipher(SECRET).open(sealed)).toBe("a prompt");
    for (const secret of ["5f".repeat(32), "5E".repeat(32), `${SECRET}0`, ""])
      expect(await failureOf(createCipher(secret).open(sealed))).toContain("cannot be opened");
  });

  test("is another each time, and shows nothing of what it says", async () => {
    const all = new Set(await Promise.all(Array.from({ length: 1_000 }, () => seal("the same prompt"))));
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

  test("with any bit changed does not open, 10,000 times", async () => {
    const sealed = await seal(JSON.stringify({ request: { prompt: "a lighthouse", n: 4 } }));
    await fc.assert(
      fc.asyncProperty(fc.nat(sealed.length - 1), fc.nat(7), async (at, bit) => {
        const changed =
          sealed.slice(0, at) +
          String.fromCharCode(sealed.charCodeAt(at) ^ (1 << bit)) +
          sealed.slice(at + 1);
        expect(await failureOf(cipher.open(changed))).toContain("cannot be opened");
      }),
      { ...seeded, numRuns: 10_000 },
    );
    expect(await cipher.open(sealed)).toContain("lighthouse");
  });

  const odd: readonly (readonly [string, (sealed: string) => string])[] = [
    ["nothing", () => ""],
    ["only the mark", () => "s1."],
    ["text that was never sealed", () => "a prompt"],
    ["sealed text that was cut", (sealed) => sealed.slice(0, -1)],
    ["sealed text without its nonce and tag", () => "s1.AAAA"],
    ["sealed text with more behind", (sealed) => `${sealed}A`],
    ["sealed text with padding behind", (sealed) => `${sealed}=`],
    [
      "sealed text with all its padding behind",
      (sealed) => sealed + "=".repeat((4 - ((sealed.length - 3) % 4)) % 4 || 4),
    ],
    ["sealed text with a line break within", (sealed) => `${sealed.slice(0, 9)}\n${sealed.slice(9)}`],
    ["sealed text under another mark", (sealed) => `s2.${sealed.slice(3)}`],
    ["sealed text in the other alphabet", (sealed) => sealed.replaceAll("-", "+").replaceAll("_", "/")],
  ];
  for (const [name, change] of odd) {
    test(`${name} does not open`, async () => {
      let changed = 0;
      for (const text of ["ab", "abc", "abcd", "-".repeat(2_000)]) {
        const sealed = await seal(text);
        // Short ones may have nothing that could be changed so.
        if (change(sealed) === sealed) continue;
        changed += 1;
        expect(await failureOf(cipher.open(change(sealed)))).toContain("cannot be opened");
      }
      expect(changed).toBeGreaterThan(0);
    });
  }
});
