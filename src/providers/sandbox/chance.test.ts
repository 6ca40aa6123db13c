import { expect, test } from "bun:test";
import { createChance } from "./chance.ts";

const many = (seed: string, from: number, to: number): readonly number[] => {
  const chance = createChance(seed);
  return Array.from({ length: 1_000 }, () => chance.between(from, to));
};

test("chance keeps to its bounds, both included, and leaves out nothing between", () => {
  expect(new Set(many("a", 3, 7))).toEqual(new Set([3, 4, 5, 6, 7]));
  expect(new Set(many("a", 5, 5))).toEqual(new Set([5]));
  const mean = many("b", 0, 1_000).reduce((sum, value) => sum + value) / 1_000;
  expect(Math.abs(mean - 500)).toBeLessThan(50);
});

test("chance picks every item, and flips to either side about as often", () => {
  const chance = createChance("c");
  expect(new Set(Array.from({ length: 100 }, () => chance.pick(["x", "y", "z"]))).size).toBe(3);
  const heads = Array.from({ length: 1_000 }, () => chance.flip()).filter(Boolean).length;
  expect(Math.abs(heads - 500)).toBeLessThan(60);
});

test("chance is mulberry32: the same seed has the same numbers in every version", () => {
  // Reckoned with the reference code, seeded with the first 32 bits of the seed's hash.
  expect(many("seed", 0, 999_999).slice(0, 4)).toEqual([785_773, 529_030, 923_573, 818_571]);
  expect(many("a", 0, 9).slice(0, 8)).not.toEqual(many("b", 0, 9).slice(0, 8));
});
