/** Ranges of time that a page may show, by the name that its address has. */
export const RANGES = {
  "1h": { label: "Last hour", seconds: 3_600 },
  "24h": { label: "Last 24 hours", seconds: 86_400 },
  "7d": { label: "Last 7 days", seconds: 7 * 86_400 },
  "30d": { label: "Last 30 days", seconds: 30 * 86_400 },
  "90d": { label: "Last 90 days", seconds: 90 * 86_400 },
  "1y": { label: "Last year", seconds: 365 * 86_400 },
} as const;

/** The name of a range. */
export type RangeName = keyof typeof RANGES;

/** What stands in the address: a named range, or the two ends of one that was dragged or typed. */
export interface RangeSearch {
  readonly range?: RangeName | undefined;
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** A range of time, in Unix seconds. */
export interface TimeRange {
  readonly from: number;
  readonly to: number;
}

/** Reads the range out of an address; what is none of ours is left out. */
export function readRange(search: Readonly<Record<string, unknown>>): RangeSearch {
  const from = Number(search["from"]);
  const to = Number(search["to"]);
  if (from > 0 && to > from) return { from, to };
  const { range } = search;
  return typeof range === "string" && Object.hasOwn(RANGES, range) ? { range: range as RangeName } : {};
}

/** The range that an address means at `nowSec`: to the next whole minute, so that reads can be shared. */
export function rangeOf({ range = "24h", from, to }: RangeSearch, nowSec: number): TimeRange {
  if (from !== undefined && to !== undefined) return { from, to };
  const end = Math.ceil(nowSec / 60) * 60;
  return { from: end - RANGES[range].seconds, to: end };
}

/** The range of the same length that ends where this one begins. */
export function rangeBefore({ from, to }: TimeRange): TimeRange {
  return { from: from - (to - from), to: from };
}

/** The steps that a chart of the range is drawn in. */
export function intervalOf({ from, to }: TimeRange): "hour" | "day" {
  return to - from > 8 * 86_400 ? "day" : "hour";
}
