import { describe, expect, test } from "bun:test";
import { readRetryAfter } from "./retry-after.ts";

const NOW_SEC = 1_700_000_000;
const dateIn = (seconds: number): string => new Date((NOW_SEC + seconds) * 1_000).toUTCString();

describe("a provider's wish for a pause", () => {
  for (const [value, seconds] of [
    ["0", 1],
    ["2", 2],
    [" 7 ", 7],
    ["1.2", 2],
    ["60", 60],
    ["61", 60],
    ["-5", 1],
    [".5", 1],
    ["1e-7", 1],
    ["1e3", 60],
    ["1e400", 60],
    ["1700000000", 60],
    ["9".repeat(400), 60],
    [dateIn(5), 5],
    [dateIn(-500), 1],
    [dateIn(500_000), 60],
    ["Tuesday, 14-Nov-23 22:13:27 GMT", 7],
    ["Tue Nov 14 22:13:27 2023 GMT", 7],
  ] as const)
    test(`${value.slice(0, 40)} is ${seconds} seconds`, () => {
      expect(readRetryAfter(value, NOW_SEC)).toBe(seconds);
    });

  // Where a provider asks for none, one of a second would keep the gateway's own pauses from growing.
  for (const value of [
    "",
    " ",

    "+5",
    "0x10",

    "Infinity",
    "NaN",
    "soon",
    "1 hour",
    "5, 10",
    "5s",
  ])
    test(`${JSON.stringify(value)} is none`, () => {
      expect(readRetryAfter(value, NOW_SEC)).toBeUndefined();
    });

  test("is not there", () => {
    expect([readRetryAfter(null, NOW_SEC), readRetryAfter(undefined, NOW_SEC)]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
