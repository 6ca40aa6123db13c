import { describe, expect, test } from "bun:test";
import { createSlidingWindow, WINDOW_MS } from "./window.ts";

describe("a sliding window", () => {
  test("counts what was used until a minute has passed since, to the millisecond", () => {
    const window = createSlidingWindow();
    window.add(1_000, 5);
    window.add(2_000, 7);
    expect(window.used(2_000)).toBe(12);
    expect(window.used(60_999)).toBe(12);
    expect(window.used(61_000)).toBe(7);
    expect(window.used(61_999)).toBe(7);
    expect(window.used(62_000)).toBe(0);
  });

  test("tells when enough of it will be free, and when all", () => {
    const window = createSlidingWindow();
    for (const [atMs, amount] of [
      [1_000, 5],
      [2_000, 7],
      [3_000, 1],
    ] as const)
      window.add(atMs, amount);
    const freeAt = [13, 12, 8, 7, 1, 0].map((most) => window.freeAtMs(4_000, most));
    expect(freeAt).toEqual([4_000, 61_000, 61_000, 62_000, 62_000, 63_000]);
    expect(window.emptyAtMs(4_000)).toBe(63_000);
    expect(window.emptyAtMs(63_000)).toBe(63_000);
    expect(window.emptyAtMs(64_000)).toBe(64_000);
    window.add(70_000, 1);
    expect(window.freeAtMs(200_000, 0)).toBe(200_000);
  });

  test("corrects an amount at its own moment, also of one that has left", () => {
    const window = createSlidingWindow();
    const entry = window.add(1_000, 10);
    window.add(2_000, 3);
    window.correct(entry, -8);
    expect(window.used(3_000)).toBe(5);
    expect(window.freeAtMs(3_000, 3)).toBe(61_000);
    window.correct(entry, 100);
    expect(window.used(61_000)).toBe(3);
    window.correct(entry, -50);
    expect(window.used(61_000)).toBe(3);
    expect(window.used(62_000)).toBe(0);
    window.correct(entry, -52);
    expect(window.used(62_000)).toBe(0);
  });

  test("that holds nothing but what was corrected to nothing is empty now", () => {
    const window = createSlidingWindow();
    window.correct(window.add(1_000, 10), -10);
    expect(window.emptyAtMs(2_000)).toBe(2_000);
  });

  test("is empty a minute after the last amount, whatever was corrected to nothing since", () => {
    const window = createSlidingWindow();
    window.add(1_000, 10);
    for (const atMs of [2_000, 3_000]) window.correct(window.add(atMs, 10), -10);
    expect(window.emptyAtMs(4_000)).toBe(61_000);
    window.add(5_000, 1);
    expect(window.emptyAtMs(5_000)).toBe(65_000);
  });

  test("remembers a moment for each millisecond at the most, and none for long after its minute", () => {
    const window = createSlidingWindow();
    for (let i = 0; i < 1_000; i += 1) window.add(5, 1);
    expect(window.size).toBe(1);
    expect(window.used(5)).toBe(1_000);
    for (let atMs = 6; atMs < 4 * WINDOW_MS; atMs += 1) window.add(atMs, 1);
    expect(window.used(4 * WINDOW_MS - 1)).toBe(WINDOW_MS);
    expect(window.size).toBeLessThanOrEqual(2 * WINDOW_MS);
    window.add(6 * WINDOW_MS, 1);
    expect(window.size).toBe(1);
  });
});
