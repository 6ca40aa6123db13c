const DAY_SEC = 86_400;
/** How many days before today the mean of a day's spend is taken over. */
const MEAN_DAYS = 7;
const monthName = new Intl.DateTimeFormat("en", { month: "long", timeZone: "UTC" });

/** What a month will probably have cost, and what of it is spent already. */
export interface Forecast {
  readonly month: string;
  readonly spent: number;
  readonly total: number;
}

/** From when on `forecastOf` needs days: those of the month, and at least as many as the mean is taken over. */
export function forecastFrom(nowSec: number): number {
  return Math.min(monthBegin(nowSec), meanBegin(nowSec));
}

/**
 * What this month (of UTC) comes to if its rest costs as much a day as the last days did. Those are today and the seven
 * days before, or the days since the first spend, where those are fewer.
 */
export function forecastOf(
  days: readonly { readonly time: number; readonly credit: number }[],
  nowSec: number,
): Forecast {
  const begin = monthBegin(nowSec);
  const spent = sum(days.filter(({ time }) => time >= begin));
  const lately = days.filter(({ time, credit }) => time >= meanBegin(nowSec) && credit > 0);
  const first = Math.min(...lately.map(({ time }) => time));
  const perSec = lately.length === 0 ? 0 : sum(lately) / Math.max(nowSec - first, DAY_SEC);
  return {
    month: monthName.format(nowSec * 1_000),
    spent,
    total: spent + perSec * (monthEnd(nowSec) - nowSec),
  };
}

function sum(days: readonly { readonly credit: number }[]): number {
  return days.reduce((total, { credit }) => total + credit, 0);
}

function meanBegin(nowSec: number): number {
  return Math.floor(nowSec / DAY_SEC) * DAY_SEC - MEAN_DAYS * DAY_SEC;
}

function monthBegin(nowSec: number): number {
  return monthAt(nowSec, 0);
}

function monthEnd(nowSec: number): number {
  return monthAt(nowSec, 1);
}

/** The beginning of this month, or of one that comes so many months later. */
function monthAt(nowSec: number, later: number): number {
  const now = new Date(nowSec * 1_000);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later, 1) / 1_000;
}
