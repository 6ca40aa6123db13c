/** States of a route's breaker. */
export const ROUTE_STATES = ["healthy", "cooling", "open"] as const;

/** The state of a route. */
export type RouteState = (typeof ROUTE_STATES)[number];

/** Which routes the address shows, and in which order. */
export interface HealthSearch {
  readonly state?: RouteState | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
  readonly order?: string | undefined;
  /** All routes, and not the first alone. */
  readonly all?: true | undefined;
}

/** Reads it out of an address. */
export function readHealth({
  state,
  provider,
  model,
  order,
  all,
}: Readonly<Record<string, unknown>>): HealthSearch {
  return {
    state: ROUTE_STATES.find((known) => known === state),
    provider: textOf(provider),
    model: textOf(model),
    order: textOf(order),
    all: all === true ? true : undefined,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
