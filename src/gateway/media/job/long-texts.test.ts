import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { countTurns } from "../../../../test/gateway/turns.ts";
import { runsOf } from "../../../../test/runs.ts";
import { createLongTexts } from "./long-texts.ts";

const seeded = runsOf(100);
const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));

/** Bytes that are no two the same in a row, for so many of them. */
function noise(length: number, from = 0): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 7 + (i >> 8) + from) & 0xff);
}

async function decoded(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(pieces));
}

describe("a long text of an answer", () => {
  test("stands in its JSON under a name by which its bytes are had, piece by piece; all else is as it was", async () => {
    const texts = createLongTexts();
    const [one, other] = [noise(3_000_000), noise(90_001, 5)];
    const data = [
      { b64_json: one.toBase64() },
      { b64_json: `data:image/png;base64,${other.toBase64()}` },
      { b64_json: "AAAA" },
    ];
    const answer = { created: 1, data, note: 'a "quote", a \\ and ü' };
    const { value, hasLongTexts } = texts.readJson(encode(answer));
    expect(hasLongTexts).toBe(true);
    const read = value as typeof answer;
    expect({ ...read, data: [] }).toEqual({ ...answer, data: [] });
    const names = read.data.map(({ b64_json: name }) => name);
    expect(names.map((name) => name.length < 20)).toEqual([true, true, true]);
    const pieces = await Array.fromAsync(texts.decode(names[0] ?? ""));
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(1_000_000);
    expect(Buffer.concat(pieces).equals(one)).toBe(true);
    expect((await decoded(texts.decode(names[1] ?? ""))).equals(other)).toBe(true);
    expect(await decoded(texts.decode(names[2] ?? ""))).toEqual(Buffer.alloc(3));
  });

  test("is of its own answer, whatever others were read", async () => {
    const texts = createLongTexts();
    const files = [1, 2, 3].map((from) => noise(100_000, from));
    const names = files.map((file) => {
      const { value } = texts.readJson(encode({ data: file.toBase64() }));
      return (value as { data: string }).data;
    });
    for (const [i, name] of names.entries())
      expect((await decoded(texts.decode(name))).equals(files[i] ?? Buffer.alloc(0))).toBe(true);
  });

  test("with an escape in it stays in the JSON", () => {
    for (const text of [`${"x".repeat(100_000)}\n`, `"${"x".repeat(100_000)}`, `${"x".repeat(100_000)}\\`]) {
      const { value, hasLongTexts } = createLongTexts().readJson(encode({ text, more: "y" }));
      expect([value, hasLongTexts]).toEqual([{ text, more: "y" }, false]);
    }
  });

  test("that is no base64 throws when it is decoded, as does a name of none", async () => {
    const texts = createLongTexts();
    const { value } = texts.readJson(encode({ long: `${"A".repeat(100_000)}!${"A".repeat(100_000)}` }));
    for (const text of [(value as { long: string }).long, "\u0000", "\u00007", "\u0000-1", "!", "ü"])
      expect(await decoded(texts.decode(text)).catch((error: unknown) => error)).toBeInstanceOf(SyntaxError);
  });
});

test("an answer that is no JSON, or is cut off anywhere about a long text, is none", () => {
  const whole = encode({ a: ["b", noise(60_000).toBase64()], c: "d" });
  for (const end of [0, 1, 5, 10, 40_000, whole.length - 9, whole.length - 1])
    expect(createLongTexts().readJson(whole.subarray(0, end)).value).toBeUndefined();
  expect(createLongTexts().readJson(whole).value).toMatchObject({ c: "d" });
});

test("any value is read as it was, with long texts of any characters", async () => {
  const long = fc.tuple(fc.string({ minLength: 1, maxLength: 3 }), fc.integer({ min: 60_000, max: 70_000 }));
  const text = fc.oneof(
    fc.string(),
    long.map(([unit, length]) => unit.repeat(length)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.string(), fc.oneof(text, fc.array(text), fc.jsonValue())),
      async (value) => {
        const json = encode(value);
        const texts = createLongTexts();
        const read = texts.readJson(json);
        // Names stand for texts that are as long as they must be; what is put back is what was sent.
        const restored = JSON.stringify(read.value).length <= JSON.stringify(value).length;
        expect([
          restored,
          read.hasLongTexts || JSON.stringify(read.value) === new TextDecoder().decode(json),
        ]).toEqual([true, true]);
      },
    ),
    seeded,
  );
});

test("a large text is decoded with turns for others in between", async () => {
  const file = noise(12_000_000);
  const texts = createLongTexts();
  const { value } = texts.readJson(encode({ data: file.toBase64() }));
  const { done, turns } = await countTurns(() => decoded(texts.decode((value as { data: string }).data)));
  expect(done.equals(file)).toBe(true);
  expect(turns).toBeGreaterThan(10);
});

test("base64 with line breaks is decoded across all parts", async () => {
  const file = noise(2_000_003);
  const lines = file.toBase64().replace(/.{76}/g, "$&\r\n");
  expect((await decoded(createLongTexts().decode(lines))).equals(file)).toBe(true);
});
