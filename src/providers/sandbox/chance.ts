import { contentHash } from "../../runtime/hash.ts";

/** Choices that look like chance and are the same for the same seed. */
export interface Chance {
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number;
  /** One of `items`, which has at least one. */
  pick<T>(items: readonly T[]): T;
  /** Whether, in about one of two cases. */
  flip(): boolean;
}

/** Chance of a seed (mulberry32, which is in the public domain). */
export function createChance(seed: string): Chance {
  let state = Number.parseInt(contentHash(seed).slice(0, 8), 16);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1));
  return {
    between,
    pick: (items) => items[between(0, items.length - 1)] as (typeof items)[number],
    flip: () => next() < 0.5,
  };
}
