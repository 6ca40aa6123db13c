import type { Entry } from "../../api/client.ts";
import type { HealthSearch } from "./search.ts";

/** A route by each credential, with a name of its own. */
export type Route = Entry<"/admin/v1/routes"> & { readonly id: string };

/** The name by which a route is told from the others. */
export function routeId({ model, provider, credential, category }: Omit<Route, "id">): string {
  return [category, model, provider, credential ?? ""].join(" ");
}

const WORST = { open: 0, cooling: 1, healthy: 2 } as const;

/** How long a route of late took; a text says why there is no time. */
export interface RouteTimes {
  /** Until the first content of a stream, in milliseconds. */
  readonly first: number | string;
  /** Until a whole answer, or until an image or a video was made. */
  readonly whole: number | string;
}

/** Both times of a route. */
export function timesOf({
  category,
  latency_ms: first,
  plain_ms: plain,
}: Pick<Route, "category" | "latency_ms" | "plain_ms">): RouteTimes {
  // Only language models stream; of the others one time is measured, that of the whole answer.
  if (category !== "language") return { first: "never streams", whole: first ?? plain ?? "–" };
  return {
    first: first ?? (plain === null ? "–" : "no stream of late"),
    whole: plain ?? (first === null ? "–" : "streams only"),
  };
}

/** By what routes may be ordered. */
const ORDERS: Readonly<Record<string, (route: Route) => number | string>> = {
  model: ({ model }) => model,
  provider: ({ provider }) => provider,
  state: ({ state }) => WORST[state],
  calls: ({ calls }) => calls,
  failed: ({ failed }) => failed,
  latency: (route) => numberOf(timesOf(route).first),
  whole: (route) => numberOf(timesOf(route).whole),
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

/** Routes without a time stand below all others. */
function numberOf(time: number | string): number {
  return typeof time === "number" ? time : -1;
}

function compare(a: number | string, b: number | string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
