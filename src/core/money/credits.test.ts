import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { runsOf } from "../../../test/runs.ts";
import {
  creditsNumber,
  creditsText,
  MAX_CREDITS,
  MAX_MICRO_CREDITS,
  parseCredits,
  parseDecimal,
} from "./credits.ts";

const RUNS = runsOf(5_000, 100_000);
const any53Bit = fc.bigInt({ min: -MAX_MICRO_CREDITS, max: MAX_MICRO_CREDITS });

test("credits as text are plain JSON numbers that read back exactly, over all 53-bit amounts", () => {
  fc.assert(
    fc.property(any53Bit, (amount) => {
      const text = creditsText(amount);
      expect(text).toMatch(/^-?(0|[1-9]\d*)(\.\d{0,5}[1-9])?$/);
      const [whole = "", fraction = ""] = text.replace("-", "").split(".");
      const micro = BigInt(whole) * 1_000_000n + BigInt(fraction.padEnd(6, "0"));
      expect(amount < 0n ? -micro : micro).toBe(amount);
    }),
    RUNS,
  );
});

test("credits as a number read back exactly below 2^33 credits", () => {
  const most = 2n ** 33n * 1_000_000n - 1n;
  fc.assert(
    fc.property(fc.bigInt({ min: -most, max: most }), (amount) => {
      expect(parseCredits(creditsNumber(amount))).toBe(amount);
    }),
    RUNS,
  );
});

test("a call may name as many whole credits as every store holds exactly", () => {
  expect(MAX_CREDITS).toBe(9_007_199_254n);
});

describe("text", () => {
  const cases = [
    [0n, "0"],
    [1n, "0.000001"],
    [-1n, "-0.000001"],
    [10n, "0.00001"],
    [1_000_000n, "1"],
    [1_234_567n, "1.234567"],
    [1_500_000n, "1.5"],
    [MAX_MICRO_CREDITS, "9007199254.740991"],
  ] as const;
  for (const [amount, text] of cases)
    test(`${amount} is ${text}`, () => expect(creditsText(amount)).toBe(text));
});

describe("nothing is rounded on the way in", () => {
  const cases = [
    [5, 5_000_000n],
    [-5, -5_000_000n],
    [0.000001, 1n],
    [1e-6, 1n],
    [0.1, 100_000n],
    [-0, 0n],
    [1e3, 1_000_000_000n],
    [0.1 + 0.2, undefined],
    [0.0000001, undefined],
    [1e-7, undefined],
    [5e-324, undefined],
    [9007199255, undefined],
    [1e30, undefined],
    [Number.MAX_VALUE, undefined],
    [NaN, undefined],
    [Infinity, undefined],
    [-Infinity, undefined],
  ] as const;
  for (const [value, micro] of cases) test(`${value}`, () => expect(parseCredits(value)).toBe(micro));
});

test("parseDecimal takes numbers of up to forty zeros", () => {
  expect([parseDecimal(1e40, 0), parseDecimal(1e41, 0)]).toEqual([10n ** 40n, undefined]);
});

test("parseDecimal scales by its places or refuses", () => {
  expect([parseDecimal(1.5, 4), parseDecimal(1e21, 0), parseDecimal(1.25, 1), parseDecimal(1e60, 0)]).toEqual(
    [15_000n, 10n ** 21n, undefined, undefined],
  );
});
