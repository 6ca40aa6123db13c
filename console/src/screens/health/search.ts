/** States of a route's breaker. */
export const ROUTE_STATES = ["healthy", "cooling", "open"] as const;

/** The state of a route. */
export type RouteState = (typeof ROUTE_STATES)[number];

/** Lists of the page that can be folded. `all`: the routes. */
export const FOLDS = ["all", "providers", "invariants", "settings"] as const;

/** A list that can be folded. */
export type Fold = (typeof FOLDS)[number];

/** Which routes the address shows, and in which order. */
export interface HealthSearch extends Partial<Record<Fold, true | undefined>> {
  readonly state?: RouteState | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly order?: string | undefined;
}

/** Reads it out of an address. */
export function readHealth({
  state,
  provider,
  model,
  order,
  ...others
}: Readonly<Record<string, unknown>>): HealthSearch {
  return {
    state: ROUTE_STATES.find((known) => known === state),
    provider: textOf(provider),
    model: textOf(model),
    order: textOf(order),
    ...Object.fromEntries(FOLDS.map((name) => [name, others[name] === true ? true : undefined])),
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
