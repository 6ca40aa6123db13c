import type { Names } from "./measures.ts";

/** A name by which usage can be told apart and asked for. */
export type Dimension = keyof Names;

/** Every one of them. */
export const DIMENSIONS = ["model", "provider", "account", "key", "outcome"] as const satisfies Dimension[];

/** How long the times are that usage is kept by; by five minutes only that of the last hours is (`recent.ts`). */
export const FIVE_MINUTES_MS = 5 * 60 * 1000;
export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;
/** Counted from 1970 on, not by the calendar. `thirty-days.ts` makes them once they lie behind. */
export const THIRTY_DAYS_MS = 30 * DAY_MS;

/** A part of the names, and the times by which usage is kept under them. */
interface ViewForm {
  readonly has: readonly Dimension[];
  readonly grains: readonly number[];
}

/**
 * What usage is kept by, the one with the fewest rows first: a year by the day is a few thousand rows. The last has
 * everything, and an index for one key and one account. It has no thirty days: where a day has few requests of the same
 * names, thirty days have hardly fewer rows.
 */
export const VIEWS = {
  outcome: { has: ["outcome"], grains: [FIVE_MINUTES_MS, HOUR_MS, DAY_MS, THIRTY_DAYS_MS] },
  route: { has: ["model", "provider"], grains: [FIVE_MINUTES_MS, HOUR_MS, DAY_MS, THIRTY_DAYS_MS] },
  account: { has: ["account"], grains: [DAY_MS, THIRTY_DAYS_MS] },
  key: { has: ["account", "key"], grains: [DAY_MS, THIRTY_DAYS_MS] },
  full: { has: DIMENSIONS, grains: [FIVE_MINUTES_MS, HOUR_MS, DAY_MS] },
} as const satisfies Readonly<Record<string, ViewForm>>;

export type View = keyof typeof VIEWS;

/** The view with the fewest rows that is kept by these times and tells these dimensions apart. */
export function viewFor(grainMs: number, wanted: Iterable<Dimension>): View {
  const dimensions = [...wanted];
  const views = Object.entries(VIEWS) as [View, ViewForm][];
  const found = views.find(
    ([, { has, grains }]) => grains.includes(grainMs) && dimensions.every((one) => has.includes(one)),
  );
  return found?.[0] ?? "full";
}

/** The names of `all` that a view tells apart; the others are empty. */
export function namesIn(view: View, all: Names): Names {
  const has: readonly Dimension[] = VIEWS[view].has;
  const name = (dimension: Dimension): string => (has.includes(dimension) ? all[dimension] : "");
  return {
    model: name("model"),
    provider: name("provider"),
    account: name("account"),
    key: name("key"),
    outcome: name("outcome"),
  };
}

/** Whether a view is kept by these times. */
export function isKeptBy(grainMs: number, view: View): boolean {
  const { grains }: ViewForm = VIEWS[view];
  return grains.includes(grainMs);
}

/** When the five minutes, the hour, the day or the thirty days of a moment begin. */
export function startOf(grainMs: number, ms: number): number {
  return Math.floor(ms / grainMs) * grainMs;
}
