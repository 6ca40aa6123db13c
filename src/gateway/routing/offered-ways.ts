import type { Model } from "../../core/model.ts";
import type { NamedCredential } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";
import type { WayKey } from "./health.ts";

/** Every way by which models are offered: each route by each credential of its provider. */
export function offeredWays({ catalog, providers, mediaProviders }: Offer): WayKey[] {
  // A model may have two routes to one provider, by two names.
  const ways = new Map<string, WayKey>();
  for (const model of catalog.models)
    for (const route of model.routes) {
      const provider = (model.media === undefined ? providers : mediaProviders).get(route.provider);
      if (provider === undefined) continue;
      const credentials: readonly NamedCredential[] = provider.credentials ?? ONE;
      for (const { name } of credentials) {
        const way = wayKey(model, route.provider, name);
        ways.set(JSON.stringify(way), way);
      }
    }
  return [...ways.values()];
}

/** Names the way to a model at a provider by one of its credentials. */
export function wayKey(
  { id, media }: Pick<Model, "id" | "media">,
  provider: string,
  credential: string,
): WayKey {
  const way = { model: id, provider, credential };
  return media === undefined ? way : { ...way, media: true };
}

/** Of a provider that has but one credential. */
const ONE = [{ name: "" }];
