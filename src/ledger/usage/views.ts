import type { Names } from "./measures.ts";

/** A name by which usage can be told apart and asked for. */
export type Dimension = keyof Names;

/** Every one of them. */
export const DIMENSIONS = ["model", "provider", "account", "key", "outcome"] as const satisfies Dimension[];

/**
 * What usage is kept by, the one with the fewest rows first. A year of the first ones is a few thousand rows. The last
 * has everything, and an index for one key and one account.
 */
export const VIEWS = {
  outcome: ["outcome"],
  route: ["model", "provider"],
  account: ["account"],
  key: ["account", "key"],
  full: DIMENSIONS,
} as const satisfies Readonly<Record<string, readonly Dimension[]>>;

export type View = keyof typeof VIEWS;

/** The view with the fewest rows that tells these dimensions apart. */
export function viewFor(wanted: Iterable<Dimension>): View {
  const dimensions = [...wanted];
  const views = Object.entries(VIEWS) as [View, readonly Dimension[]][];
  const found = views.find(([, has]) => dimensions.every((dimension) => has.includes(dimension)));
  return found?.[0] ?? "full";
}

/** The names of `all` that a view tells apart; the others are empty. */
export function namesIn(view: View, all: Names): Names {
  const has: readonly Dimension[] = VIEWS[view];
  const name = (dimension: Dimension): string => (has.includes(dimension) ? all[dimension] : "");
  return {
    model: name("model"),
    provider: name("provider"),
    account: name("account"),
    key: name("key"),
    outcome: name("outcome"),
  };
}

/** How long the times are that usage is kept by. */
export const HOUR_MS = 60 * 60 * 1000;
export const DAY_MS = 24 * HOUR_MS;
export const GRAINS = [HOUR_MS, DAY_MS] as const;

/** When the hour or the day of a moment begins. */
export function startOf(grainMs: number, ms: number): number {
  return Math.floor(ms / grainMs) * grainMs;
}
