import { expect, test } from "bun:test";
import { forecastFrom, forecastOf } from "./forecast.ts";

const DAY = 86_400;
const at = (text: string): number => Date.parse(text) / 1_000;

test("the rest of the month costs what the last days did", () => {
  const now = at("2026-11-21T00:00:00Z");
  const days = Array.from({ length: 20 }, (_, i) => ({
    time: at("2026-11-01T00:00:00Z") + i * DAY,
    credit: 10,
  }));
  const forecast = forecastOf(days, now);
  expect(forecast.month).toBe("November");
  expect(forecast.spent).toBe(200);
  expect(forecast.total).toBeCloseTo(300, 6);
});

test("days of the month before count for the mean alone", () => {
  const now = at("2026-11-02T00:00:00Z");
  const days = Array.from({ length: 7 }, (_, i) => ({ time: now - (7 - i) * DAY, credit: 7 }));
  const forecast = forecastOf(days, now);
  expect(forecast.spent).toBe(7);
  expect(forecast.total).toBeCloseTo(7 + 29 * 7, 6);
});

test("a first spend of today counts as a whole day's", () => {
  const now = at("2026-11-29T01:00:00Z");
  const { total } = forecastOf([{ time: at("2026-11-29T00:00:00Z"), credit: 24 }], now);
  expect(total).toBeCloseTo(24 + 24 + 23, 6);
});

test("without a spend the month costs nothing", () => {
  expect(forecastOf([], at("2026-11-29T01:00:00Z"))).toEqual({ month: "November", spent: 0, total: 0 });
});

test("early in a month the days before it are read as well", () => {
  expect(forecastFrom(at("2026-11-02T12:00:00Z"))).toBe(at("2026-10-26T00:00:00Z"));
  expect(forecastFrom(at("2026-11-20T12:00:00Z"))).toBe(at("2026-11-01T00:00:00Z"));
});
