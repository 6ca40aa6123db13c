import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runsOf } from "../../test/runs.ts";
import { readRange } from "./byte-range.ts";

const SIZE = 100;
const cases: readonly (readonly [string | null, string | undefined])[] = [
  [null, undefined],
  ["bytes=0-", "0-100"],
  ["bytes=0-0", "0-1"],
  ["bytes=0-99", "0-100"],
  ["bytes=0-1000", "0-100"],
  ["bytes=10-19", "10-20"],
  ["bytes=99-", "99-100"],
  ["bytes=-1", "99-100"],
  ["bytes=-100", "0-100"],
  ["bytes=-1000", "0-100"],
  ["bytes=0-99999999999999999999999999", "0-100"],
  ["BYTES= 0-1 ", "0-2"],
  ["bytes=100-", "none"],
  ["bytes=100-200", "none"],
  ["bytes=99999999999999999999999999-", "none"],
  ["bytes=-0", "none"],
  ["bytes=9-1", undefined],
  ["bytes=200-100", undefined],
  ["bytes=-", undefined],
  ["bytes=", undefined],
  ["bytes", undefined],
  ["", undefined],
  ["0-1", undefined],
  ["items=0-1", undefined],
  ["bytes=0-1,5-6", undefined],
  [`bytes=${"0-,".repeat(1_000)}0-`, undefined],
  ["bytes=a-b", undefined],
  ["bytes=0x1-2", undefined],
  ["bytes=1.5-2", undefined],
  ["bytes=+1-2", undefined],
  ["bytes=--1", undefined],
  ["bytes=1--2", undefined],
  ["bytes=0-1;x", undefined],
];

describe("of a file of 100 bytes", () => {
  for (const [header, want] of cases) {
    test(`${JSON.stringify(header)?.slice(0, 60)} is ${want ?? "the whole"}`, () => {
      const range = readRange(header, SIZE);
      expect(typeof range === "object" ? `${range.start}-${range.end}` : range).toBe(want);
    });
  }
});

test("a part is never empty and never beyond the file, whatever the header says", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.stringMatching(/^bytes=[0-9]{0,4}-[0-9]{0,4}$/)),
      fc.nat(2_000),
      (header, size) => {
        const range = readRange(header, size);
        if (typeof range !== "object") return;
        expect(range.start).toBeGreaterThanOrEqual(0);
        expect(range.end).toBeGreaterThan(range.start);
        expect(range.end).toBeLessThanOrEqual(size);
      },
    ),
    runsOf(2_000),
  );
});
