import type { Offer } from "../offer.ts";
import type { WayKey } from "./health.ts";

/** Every way by which models of language and embeddings are offered: each route by each credential of its provider. */
export function offeredWays({ catalog, providers }: Pick<Offer, "catalog" | "providers">): WayKey[] {
  // A model may have two routes to one provider, by two names.
  const ways = new Map<string, WayKey>();
  for (const model of catalog.models)
    for (const route of model.routes) {
      const provider = providers.get(route.provider);
      if (provider === undefined || model.media !== undefined) continue;
      for (const { name } of provider.credentials ?? ONE) {
        const way = { model: model.id, provider: route.provider, credential: name };
        ways.set(JSON.stringify(way), way);
      }
    }
  return [...ways.values()];
}

/** Of a provider that has but one credential. */
const ONE = [{ name: "" }];
