import type { Entry } from "../../api/client.ts";
import type { HealthSearch } from "./search.ts";

/** A route by each credential, with a name of its own. */
export type Route = Entry<"/admin/v1/routes"> & { readonly id: string };

/** The name by which a route is told from the others. */
export function routeId({ model, provider, credential, category }: Omit<Route, "id">): string {
  return [category, model, provider, credential ?? ""].join(" ");
}

const WORST = { open: 0, cooling: 1, healthy: 2 } as const;

/** By what routes may be ordered. */
const ORDERS: Readonly<Record<string, (route: Route) => number | string>> = {
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  state: ({ state }) => WORST[state],
  calls: ({ calls }) => calls,
  failed: ({ failed }) => failed,
  latency: ({ latency_ms }) => latency_ms ?? -1,
};

/** The routes that an address asks for, those in trouble first where it names no order. */
export function chosenRoutes(routes: readonly Route[], search: HealthSearch): readonly Route[] {
  const { state, provider, model = "", order = "state" } = search;
  const measure = ORDERS[order.replace(/^-/, "")] ?? (() => 0);
  const sign = order.startsWith("-") ? -1 : 1;
  return routes
    .filter((route) => state === undefined || route.state === state)
    .filter((route) => provider === undefined || route.provider === provider)
    .filter((route) => `${route.model} ${route.upstream_id}`.toLowerCase().includes(model.toLowerCase()))
    .toSorted((a, b) => sign * compare(measure(a), measure(b)));
}

function compare(a: number | string, b: number | string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
