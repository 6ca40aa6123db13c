import type { Model, Route } from "../../core/model.ts";
import type { NamedCredential } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";
import type { WayKey } from "./way-key.ts";

/** Every way by which models are offered: each route by each credential of its provider. */
export function offeredWays({ catalog, providers, mediaProviders }: Offer): WayKey[] {
  // A model may have two routes to one provider by one name, in different formats.
  const ways = new Map<string, WayKey>();
  for (const model of catalog.models)
    for (const route of model.routes) {
      const provider = (model.media === undefined ? providers : mediaProviders).get(route.provider);
      if (provider === undefined) continue;
      const credentials: readonly NamedCredential[] = provider.credentials ?? ONE;
      for (const { name } of credentials) {
        const way = wayKey(model, route, name);
        ways.set(JSON.stringify(way), way);
      }
    }
  return [...ways.values()];
}

/** Names the way to a model by a route of it and one of the provider's credentials. */
export function wayKey(
  { id, media }: Pick<Model, "id" | "media">,
  { provider, upstreamId }: Route,
  credential: string,
): WayKey {
  const way = { model: id, provider, upstreamId, credential };
  return media === undefined ? way : { ...way, media: true };
}

/** Of a provider that has but one credential. */
const ONE = [{ name: "" }];
