import { describe, expect, test } from "bun:test";
import { systemRandom } from "../core/random.ts";
import { isKeyText, keyHint, newKeyText } from "./key-text.ts";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

test("a key is sk- and 49 base-62 characters, and is known as one", () => {
  for (let i = 0; i < 200; i += 1) {
    const text = newKeyText(systemRandom);
    expect(text).toMatch(/^sk-[0-9A-Za-z]{49}$/);
    expect(isKeyText(text)).toBe(true);
  }
});

test("a key of an earlier version is still one", () => {
  expect(isKeyText("sk-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefg37cCQ0")).toBe(true);
});

test("bytes that would make some digits likelier are thrown away", () => {
  let next = 0;
  const random = { bytes: (count: number) => Uint8Array.from({ length: count }, () => 247 + (next++ % 9)) };
  expect(newKeyText(random).slice(3, 46)).toBe((DIGITS[247 % 62] as string).repeat(43));
});

test("any single changed character is refused, and so are two that changed places", () => {
  const text = newKeyText(systemRandom);
  for (let i = 0; i < text.length; i += 1) {
    for (const digit of `${DIGITS}-_ \n`) {
      const changed = text.slice(0, i) + digit + text.slice(i + 1);
      if (changed !== text) expect([changed, isKeyText(changed)]).toEqual([changed, false]);
    }
    const swapped = text.slice(0, i) + (text[i + 1] ?? "") + text[i] + text.slice(i + 2);
    if (swapped !== text) expect(isKeyText(swapped)).toBe(false);
  }
});

describe("what is no key", () => {
  const key = newKeyText(systemRandom);
  for (const text of [
    "",
    "sk-",
    key.slice(3),
    key.slice(0, -1),
    `${key}a`,
    ` ${key}`,
    `${key}\n`,
    key.toLowerCase(),
    `pk${key.slice(2)}`,
    "' OR '1'='1",
    "sk-é".padEnd(52, "a"),
    "x".repeat(1_000_000),
  ]) {
    test(JSON.stringify(text.slice(0, 20)), () => expect(isKeyText(text)).toBe(false));
  }
});

test("a hint shows four characters of either end and no more", () => {
  const key = newKeyText(systemRandom);
  expect(keyHint(key)).toBe(`${key.slice(0, 7)}…${key.slice(-4)}`);
});
