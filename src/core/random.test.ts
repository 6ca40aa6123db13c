import { expect, test } from "bun:test";
import { fraction } from "./random.ts";

test("a fraction reaches from 0 to just below 1", () => {
  const of = (byte: number): number => fraction({ bytes: (count) => new Uint8Array(count).fill(byte) });
  expect(of(0)).toBe(0);
  expect(of(255)).toBe(1 - 2 ** -32);
  expect(of(128)).toBeCloseTo(0.502, 3);
});
