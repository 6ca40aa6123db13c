import { expect, test } from "bun:test";
import { grown, heededMs, jittered } from "./waits.ts";

test("a wait doubles each time, up to its most", () => {
  expect([0, 1, 2, 3, 4].map((times) => grown(1_000, times, 10_000))).toEqual([
    1_000, 2_000, 4_000, 8_000, 10_000,
  ]);
  expect(grown(1, 1_000_000, Infinity)).toBe(2 ** 30);
});

test("a provider's wish is heeded from a second to a minute", () => {
  const cases = [
    [-1, 1_000],
    [999.5, 1_000],
    [1_000.2, 1_001],
    [60_000, 60_000],
    [60_001, 60_000],
    [NaN, 1_000],
    [Infinity, 1_000],
  ] as const;
  for (const [wish, heeded] of cases) expect([wish, heededMs(wish)]).toEqual([wish, heeded]);
});

test("a wait gets up to a quarter more by chance", () => {
  const by = (byte: number): number =>
    jittered(102_400, { bytes: (count) => new Uint8Array(count).fill(byte) });
  expect([0, 1, 128, 255].map(by)).toEqual([102_400, 102_500, 115_200, 127_900]);
});
