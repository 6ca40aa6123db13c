import { type Category, formatName, type Model, type Route, type RouteOrder } from "../../core/model.ts";
import type { Credential, MediaProvider, Provider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";
import type { State, WaySnapshot } from "../routing/way-snapshot.ts";
import { wayKey } from "../routing/offered-ways.ts";
import { routingOf } from "../routing/routing.ts";
import type { WayKey } from "../routing/way-key.ts";
import { type FilterParts, unknown } from "./filters.ts";

/** A way to a model as the admin interface shows it: never a credential itself. */
export interface RouteView {
  readonly model: string;
  readonly category: Category;
  readonly provider: string;
  /** The variable of the credential; null where the provider has but one. */
  readonly credential: string | null;
  readonly upstream_id: string;
  /** The formats in which the provider serves it, the preferred first, by their names in the settings. */
  readonly formats: readonly string[];
  readonly weight: number;
  readonly cost_known: boolean;
  readonly by: RouteOrder;
  readonly sticky: boolean;
  readonly fallback: readonly string[];
  /** How it fares in this process. */
  readonly state: State;
  readonly until: number | null;
  readonly failures: number;
  readonly latency_ms: number | null;
  readonly plain_ms: number | null;
  readonly calls: number;
  readonly failed: number;
  readonly last_failure: {
    readonly reason: string;
    readonly status: number | null;
    readonly at: number;
  } | null;
}

/** A filter of ways; an absent member is not asked. */
export interface RouteFilter {
  readonly model?: string;
  readonly provider?: string;
}

/** What such a filter is checked against. */
export type RouteFilterParts = Pick<FilterParts, "isModel" | "providers">;

/** The filter; throws a 400 that names what it asks for where there is no such model or provider. */
export function checkRouteFilter({ isModel, providers }: RouteFilterParts, filter: RouteFilter): RouteFilter {
  const { model, provider } = filter;
  if (model !== undefined && !isModel(model)) throw unknown("model", model, "model");
  // A provider may have names of its own for some of its models: `sandbox:media`.
  if (provider !== undefined && !providers().includes(provider.replace(/:.*/, "")))
    throw unknown("provider", provider, providers());
  return filter;
}

/** A route by one of its provider's credentials. */
interface OfferedWay {
  readonly model: Model;
  readonly route: Route;
  readonly credential: Pick<Credential, "name"> & Partial<Credential>;
}

/** The ways of an offer, with how they fare by `snapshot`: models in their order, each by its routes and their credentials. */
export function listRoutes(
  offer: Offer,
  snapshot: readonly WaySnapshot[],
  { model, provider }: RouteFilter,
): readonly RouteView[] {
  const known = new Map(snapshot.map((way) => [nameOf(way), way]));
  return [...waysOf(offer)]
    .filter((way) => model === undefined || way.model.id === model)
    .filter((way) => provider === undefined || way.route.provider === provider)
    .flatMap((way) => {
      const snapshot = known.get(nameOf(keyOf(way)));
      return snapshot === undefined ? [] : [viewOf(way, snapshot)];
    });
}

function* waysOf({ catalog, providers, mediaProviders }: Offer): Iterable<OfferedWay> {
  for (const model of catalog.models)
    for (const route of model.routes) {
      const provider = providers.get(route.provider);
      const media = mediaProviders.get(route.provider);
      for (const credential of model.media === undefined ? credentialsOf(provider) : credentialsOf(media))
        yield { model, route, credential };
    }
}

/** None of a provider that is not live. */
function credentialsOf(provider: Provider | MediaProvider | undefined): readonly OfferedWay["credential"][] {
  if (provider === undefined) return [];
  const { credentials = [{ ...("protocols" in provider ? provider : {}), name: "" }] } = provider;
  return credentials;
}

function keyOf({ model, route, credential }: OfferedWay): WayKey {
  return wayKey(model, route, credential.name);
}

function nameOf({ model, provider, upstreamId, credential, media }: WayKey): string {
  return JSON.stringify([model, provider, upstreamId, credential, media]);
}

function viewOf({ model, route, credential }: OfferedWay, way: WaySnapshot): RouteView {
  const { by, sticky, fallback } = routingOf(model);
  const isLanguage = model.category === "language";
  const spoken = isLanguage ? (credential.protocols ?? []) : [];
  return {
    model: model.id,
    category: model.category,
    provider: route.provider,
    credential: credential.name === "" ? null : credential.name,
    upstream_id: route.upstreamId,
    formats: spoken
      .filter(({ id }) => route.protocols?.includes(id) !== false)
      .map(({ id }) => formatName(id)),
    weight: route.weight ?? 1,
    cost_known: route.cost !== undefined,
    by,
    sticky,
    fallback,
    state: way.state,
    until: inSeconds(way.untilMs),
    failures: way.failures,
    latency_ms: way.latencyMs,
    plain_ms: way.plainMs,
    calls: way.calls,
    failed: way.failed,
    last_failure: failureOf(way),
  };
}

function failureOf({ lastFailure }: WaySnapshot): RouteView["last_failure"] {
  if (lastFailure === null) return null;
  const { reason, status, atMs } = lastFailure;
  return { reason, status, at: atMs / 1000 };
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000;
}
