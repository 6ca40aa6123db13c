import { expect, test } from "bun:test";
import { axisDuration, counted, delta, duration, seconds } from "./numbers.ts";

test("one of something is one, and any other number are many", () => {
  expect([0, 1, 2, 1_204].map((value) => counted(value, "key"))).toEqual([
    "0 keys",
    "1 key",
    "2 keys",
    "1,204 keys",
  ]);
  expect([1, 2].map((value) => counted(value, "entry", "entries"))).toEqual(["1 entry", "2 entries"]);
});

test("a change is a percentage, and a large growth a multiple", () => {
  expect([delta(11, 10), delta(5, 10), delta(10, 10), delta(110, 10), delta(1, 0)]).toEqual([
    "+10%",
    "−50%",
    "±0%",
    "×11",
    undefined,
  ]);
});

test("a duration has the two units that matter, without one that is nothing", () => {
  expect([85, 1_240, 14_103, 185_000, 300_000, 3_600_000, 5_400_000].map(duration)).toEqual([
    "85 ms",
    "1.24 s",
    "14.1 s",
    "3 min 5 s",
    "5 min",
    "1 h",
    "1 h 30 min",
  ]);
});

test("seconds of a column have the same decimals", () => {
  expect([1, 14_103, 185_000, 1_000_000].map(seconds)).toEqual(["0.001", "14.103", "185.000", "1,000.000"]);
});

test("a label of an axis has no more digits than its step", () => {
  expect([0, 500, 2_500, 5_000, 20_000, 300_000].map(axisDuration)).toEqual([
    "0",
    "500 ms",
    "2.5 s",
    "5 s",
    "20 s",
    "5 min",
  ]);
});
