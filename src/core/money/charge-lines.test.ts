import { describe, expect, test } from "bun:test";
import { chargeLines } from "./charge-lines.ts";
import type { Prices } from "./price.ts";
import { NO_USAGE, type Usage } from "./usage.ts";

const PRICES: Prices = {
  input: [{ when: {}, price: 3n }],
  image: [
    { when: { size: ["large"] }, price: 40n },
    { when: {}, price: 20n },
  ],
};

/** The lines of a request whose facts are forgotten, as `bucket quantity price credit`. */
function linesOf(usage: Partial<Usage>, charge: bigint): string[] {
  const snapshot = { version: "v", prices: PRICES, pricedAtMs: 0 };
  const lines = chargeLines({ usage: { ...NO_USAGE, ...usage }, snapshot, factsAreKnown: false, charge });
  return lines.map(({ bucket, quantity, price, credit }) => `${bucket} ${quantity} ${price} ${credit}`);
}

describe("a charge whose facts are forgotten", () => {
  test("has the prices that come to it", () => {
    expect(linesOf({ input: 5, images: 2 }, 95n)).toEqual(["input 5 3 15", "image 2 40 80"]);
    expect(linesOf({ input: 5, images: 2 }, 55n)).toEqual(["input 5 3 15", "image 2 20 40"]);
  });

  test("has only the certain prices where none come to it, and the rest in a line of its own", () => {
    expect(linesOf({ input: 5, images: 2 }, 50n)).toEqual([
      "input 5 3 15",
      "image 2 null 0",
      "adjustment 1 null 35",
    ]);
  });

  test("has a line without a price for a bucket that is not sold", () => {
    expect(linesOf({ input: 5, seconds: 2 }, 15n)).toEqual(["input 5 3 15", "second 2 null 0"]);
  });
});
