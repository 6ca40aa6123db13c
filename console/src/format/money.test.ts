import { expect, test } from "bun:test";
import { axisCredits, cents, credits, dollars, exactCredits, widestCents } from "./money.ts";

test("credits have two decimals, so that a column of them is aligned", () => {
  expect([1_234.564, 350, 0.726, 0, -1.122].map(credits)).toEqual([
    "1,234.56",
    "350.00",
    "0.73",
    "0.00",
    "−1.12",
  ]);
});

test("an amount that is too small for its decimals never reads as nothing", () => {
  expect([credits(0.0049), credits(-0.001), dollars(0.3), cents(1)]).toEqual([
    "<0.01",
    "−<0.01",
    "<$0.0001",
    "<$0.01",
  ]);
});

test("dollars have cents, and below a cent the worth of a credit", () => {
  expect([1_200, 35, 1, 0, -400].map(dollars)).toEqual(["$0.12", "$0.0035", "$0.0001", "$0.00", "−$0.04"]);
  expect([999_999_999, 350].map(cents)).toEqual(["$100,000.00", "$0.04"]);
});

test("exactCredits writes what the gateway booked to the last digit", () => {
  expect([1.122, -0.000001, 5].map(exactCredits)).toEqual(["1.122", "−0.000001", "5.00"]);
});

test("an axis tells small steps apart", () => {
  expect([0, 0.002, 0.004, 12.5, 1_200_000].map(axisCredits)).toEqual([
    "0",
    "0.002",
    "0.004",
    "12.5",
    "1.2M",
  ]);
});

test("the widest dollars of a column are found, a sign counting as more than a figure", () => {
  expect(widestCents([])).toBe("");
  expect(widestCents([0, 12_000, 1_234_500, 999])).toBe("$123.45");
  expect(widestCents([100_000, 1])).toBe("<$0.01");
  expect(widestCents([100_000, -10_000])).toBe("−$1.00");
});
