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

/** The last second of the year 9999: the API takes no later time. */
const MAX_SEC = 253_402_300_799;

/** Five years: longer than any reader compares. */
const LONGEST_SEC = 5 * 366 * 86_400;

/** The router lays what is read over what the address has: a member that is left out would stay. */
const UNSET: RangeSearch = { range: undefined, from: undefined, to: undefined };

/** Reads the range out of an address; what is none of ours is unset. */
export function readRange(search: Readonly<Record<string, unknown>>): RangeSearch {
  const from = Number(search["from"]);
  const to = Number(search["to"]);
  if (from > 0 && to > from && to <= MAX_SEC && to - from <= LONGEST_SEC) return { ...UNSET, from, to };
  const { range } = search;
  const isNamed = typeof range === "string" && Object.hasOwn(RANGES, range);
  return isNamed ? { ...UNSET, range: range as RangeName } : UNSET;
}

/** What of an address decides which range a page reads. */
export function rangeDeps({ search: { range, from, to } }: { readonly search: RangeSearch }): RangeSearch {
  return { range, from, to };
}

const HOUR = 3_600;
/** The gateway keeps usage of the last hours by these, too. */
export const FIVE_MINUTES = 300;

/**
 * The range that an address means at `nowSec`: to the next whole minute, so that reads can be shared. All but the last
 * hour begin with an hour, and that one with five minutes. The gateway keeps usage by these, and reads requests one by
 * one where a part of them is asked for.
 */
export function rangeOf({ range = "24h", from, to }: RangeSearch, nowSec: number): TimeRange {
  if (from !== undefined && to !== undefined) return { from, to };
  const end = Math.ceil(nowSec / 60) * 60;
  const begin = end - RANGES[range].seconds;
  return { from: startOf(range === "1h" ? FIVE_MINUTES : HOUR, begin), to: end };
}

/** The range that a reader drew over a chart of these steps: those that it touches, each whole. */
export function drawnRange({ from, to }: TimeRange, step: Step): TimeRange {
  const begin = stepBegin(step, from);
  const last = stepBegin(step, Math.max(begin, to - 1));
  return { from: begin, to: last + STEP_SEC[step] };
}

/** The range before, which ends where this one begins: as long, or longer by a part of an hour so that it begins with one. */
export function rangeBefore(range: TimeRange): TimeRange {
  const { from } = range;
  const begin = from - lengthOf(range);
  return { from: startOf(lengthOf(range) >= 2 * HOUR ? HOUR : FIVE_MINUTES, begin), to: from };
}

/** How many seconds a range has. */
export function lengthOf({ from, to }: TimeRange): number {
  return to - from;
}

function startOf(stepSec: number, sec: number): number {
  return Math.floor(sec / stepSec) * stepSec;
}

const DAY = 24 * HOUR;

/** How many seconds each step of a chart has. */
export const STEP_SEC = { hour: HOUR, day: DAY, week: 7 * DAY } as const;

/** A step of a chart. */
export type Step = keyof typeof STEP_SEC;

/** The range from the beginning of its first step on, which is then drawn whole. */
export function wholeSteps({ from, to }: TimeRange, step: Step): TimeRange {
  return { from: stepBegin(step, from), to };
}

/** When the step of a moment begins: weeks with a Monday of UTC, and 1970 did with a Thursday. */
function stepBegin(step: Step, sec: number): number {
  const first = step === "week" ? 4 * DAY : 0;
  return first + startOf(STEP_SEC[step], sec - first);
}

/** The steps that a chart of the range is drawn in: some two hundred are as many as a reader tells apart. */
export function intervalOf(range: TimeRange): Step {
  if (lengthOf(range) > 200 * DAY) return "week";
  return lengthOf(range) > 8 * DAY ? "day" : "hour";
}
