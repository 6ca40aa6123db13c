import { type Static, Type } from "typebox";
import { readPrices } from "../../catalog/prices.ts";
import { PricesSchema } from "../../catalog/schema.ts";
import {
  formatName,
  type Model,
  PROTOCOLS,
  type ProtocolId,
  ROUTE_ORDERS,
  type Route,
  type RouteOrder,
} from "../../core/model.ts";

const closed = { additionalProperties: false };

/** Failures after which a provider may have done the work: they are retried only where the operator says so. */
export const UNSAFE_RETRIES = ["reset", 502, 504, "bad_answer"] as const;
export type UnsafeRetry = (typeof UNSAFE_RETRIES)[number];

const SPOKEN = PROTOCOLS.map(formatName);

const RouteSection = Type.Object(
  {
    provider: Type.String({ minLength: 1 }),
    upstream_id: Type.Optional(
      Type.String({
        minLength: 1,
        description: "The provider's name of the model; absent: as the model has it",
      }),
    ),
    protocols: Type.Optional(Type.Array(Type.Enum(SPOKEN), { minItems: 1, uniqueItems: true })),
    weight: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 1_000_000 })),
    cost: Type.Optional(PricesSchema),
  },
  closed,
);

const ModelSection = Type.Object(
  {
    by: Type.Optional(Type.Enum([...ROUTE_ORDERS])),
    sticky: Type.Optional(Type.Boolean()),
    routes: Type.Optional(Type.Array(RouteSection, { minItems: 1, maxItems: 20 })),
    fallback: Type.Optional(
      Type.Array(Type.String({ minLength: 1, description: "The id of a model" }), {
        maxItems: 5,
        uniqueItems: true,
      }),
    ),
  },
  closed,
);

/** The section `routing` of the settings file. */
export const RoutingSection = Type.Object(
  {
    attempts: Type.Optional(Type.Integer({ minimum: 1, maximum: 3 })),
    retry_budget: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    unsafe_retries: Type.Optional(Type.Array(Type.Enum([...UNSAFE_RETRIES]), { uniqueItems: true })),
    breaker_failures: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    breaker_seconds: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 3_600 })),
    probe_seconds: Type.Optional(Type.Number({ minimum: 1, maximum: 86_400 })),
    models: Type.Optional(Type.Record(Type.String(), ModelSection)),
  },
  closed,
);

/** How requests find their way to providers, and what becomes of those that fail. */
export interface RoutingSettings {
  /** Calls for one request at most. */
  readonly attempts: number;
  /** Retries for each request of late, over all requests of this process. */
  readonly retryBudget: number;
  readonly unsafeRetries: ReadonlySet<UnsafeRetry>;
  /** So many failures in a row open a credential's breaker; 0: calls are sent whatever became of those before, */
  readonly breakerFailures: number;
  /** for so long at first. */
  readonly breakerMs: number;
  /** A provider without traffic for so long is asked whether it is there; absent: never. */
  readonly probeMs: number | undefined;
  readonly models: ReadonlyMap<string, ModelRouting>;
}

/** What the operator says of the ways to one model. */
export interface ModelRouting {
  readonly by: RouteOrder;
  /** Absent: where the model has a price for cached input. */
  readonly sticky: boolean | undefined;
  readonly fallback: readonly string[];
  /** In place of the model's own routes. */
  readonly routes: readonly RouteSetting[] | undefined;
}

/** A route as the file has it: without the provider's name of the model it takes that of the model's own route there. */
export type RouteSetting = Omit<Route, "upstreamId"> & { readonly upstreamId?: string };

/** The formats in which each provider is called, by its name; none where it makes images and videos alone. */
type SpokenFormats = ReadonlyMap<string, readonly ProtocolId[]>;

export const DEFAULT_ROUTING: RoutingSettings = {
  attempts: 3,
  retryBudget: 0.1,
  unsafeRetries: new Set(),
  breakerFailures: 5,
  breakerMs: 1_000,
  probeMs: undefined,
  models: new Map(),
};

/**
 * Reads the section; `spoken` has the formats of each provider that there is, live or not, by its name. Throws a
 * sentence that begins with `path` where it is wrong.
 */
export function readRoutingSection(
  path: string,
  data: Static<typeof RoutingSection>,
  spoken: SpokenFormats,
): RoutingSettings {
  const ms = (seconds: number | undefined): number | undefined =>
    seconds === undefined ? undefined : Math.round(seconds * 1_000);
  return {
    attempts: data.attempts ?? DEFAULT_ROUTING.attempts,
    retryBudget: data.retry_budget ?? DEFAULT_ROUTING.retryBudget,
    unsafeRetries: new Set(data.unsafe_retries),
    breakerFailures: data.breaker_failures ?? DEFAULT_ROUTING.breakerFailures,
    breakerMs: ms(data.breaker_seconds) ?? DEFAULT_ROUTING.breakerMs,
    probeMs: ms(data.probe_seconds),
    models: new Map(
      Object.entries(data.models ?? {}).map(([id, section]) => [
        id,
        readModelSection(`${path}.models.${id}`, section, spoken),
      ]),
    ),
  };
}

function readModelSection(
  path: string,
  data: Static<typeof ModelSection>,
  spoken: SpokenFormats,
): ModelRouting {
  return {
    by: data.by ?? "order",
    sticky: data.sticky,
    fallback: data.fallback ?? [],
    routes: data.routes?.map((route, i) => readRouteSection(`${path}.routes[${i}]`, route, spoken)),
  };
}

function readRouteSection(
  path: string,
  data: Static<typeof RouteSection>,
  spoken: SpokenFormats,
): RouteSetting {
  const { provider, upstream_id: upstreamId, weight, cost } = data;
  const protocols = data.protocols?.map((name) => `compat_${name}` as ProtocolId);
  const formats = spoken.get(provider);
  if (formats === undefined) throw new Error(`${path}.provider names ${provider}, which is no provider.`);
  // A route that is left with no format would be one that is never taken.
  const unspoken = protocols?.find((id) => !formats.includes(id));
  if (unspoken !== undefined)
    throw new Error(`${path}.protocols has ${formatName(unspoken)}, which ${provider} does not speak.`);
  if (cost !== undefined && Object.keys(cost).length === 0)
    throw new Error(`${path}.cost has no price: leave it out where it is not known.`);
  try {
    return {
      provider,
      ...(upstreamId === undefined ? {} : { upstreamId }),
      ...(protocols === undefined ? {} : { protocols }),
      ...(weight === undefined ? {} : { weight }),
      ...(cost === undefined ? {} : { cost: readPrices(cost).prices }),
    };
  } catch (error) {
    throw new Error(`${path}.cost: ${(error as Error).message}.`, { cause: error });
  }
}

/**
 * The models with the routes, the order and the fallbacks that the operator gives them. Throws a sentence for a model
 * that there is not, and for a fallback that could never serve. Throws one also for a route that lacks the provider's
 * name of its model.
 */
export function routed(models: readonly Model[], settings: RoutingSettings): readonly Model[] {
  if (settings.models.size === 0) return models;
  const known = Map.groupBy(models, ({ id }) => id);
  const isLanguage = (id: string): boolean =>
    known.get(id)?.some(({ category }) => category === "language") === true;
  for (const [id, { fallback }] of settings.models) {
    const unknown = [id, ...fallback].find((named) => !known.has(named));
    if (unknown !== undefined) throw new Error(`routing.models.${id} names ${unknown}, which is no model.`);
    if (fallback.includes(id)) throw new Error(`routing.models.${id}.fallback names the model itself.`);
    // Vectors of two models do not compare, and a task is its model's: there another model never serves.
    const other = fallback.length === 0 ? undefined : [id, ...fallback].find((named) => !isLanguage(named));
    if (other !== undefined)
      throw new Error(`routing.models.${id}.fallback is for language models, and ${other} is none.`);
  }
  return models.map((model) => {
    const setting = settings.models.get(model.id);
    return setting === undefined ? model : withRouting(model, setting);
  });
}

/** Whether requests that begin alike pay less where the last one was: the operator need not say so. */
export function isStickyByItself({ prices }: Pick<Model, "prices">): boolean {
  return prices.cache_read !== undefined;
}

function withRouting(model: Model, { by, sticky, fallback, routes }: ModelRouting): Model {
  const routing = { by, sticky: sticky ?? isStickyByItself(model), fallback };
  if (routes === undefined) return { ...model, routing };
  const named = routes.map((route) => namedRoute(model, route));
  checkOnce(model, named);
  return { ...model, routing, routes: named };
}

/** A route that stands twice would be called again at once after a failure, as if it were another provider. */
function checkOnce({ id }: Model, routes: readonly Route[]): void {
  const seen = new Set<string>();
  for (const [i, { provider, upstreamId, protocols }] of routes.entries()) {
    const name = JSON.stringify([provider, upstreamId, protocols?.toSorted()]);
    if (seen.has(name)) throw new Error(`routing.models.${id}.routes[${i}] stands there twice.`);
    seen.add(name);
  }
}

function namedRoute({ id, routes }: Model, route: RouteSetting): Route {
  const upstreamId =
    route.upstreamId ?? routes.find(({ provider }) => provider === route.provider)?.upstreamId;
  if (upstreamId !== undefined) return { ...route, upstreamId };
  throw new Error(
    `routing.models.${id}: the route to ${route.provider} needs upstream_id, the provider's name of the model.`,
  );
}
