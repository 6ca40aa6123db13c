import type { Model, Route } from "../../core/model.ts";
import type { TaskKind } from "../../core/task.ts";
import type { MediaProvider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";
import { wayKey } from "../routing/offered-ways.ts";
import type { CallBounds } from "../routing/bounds.ts";
import type { WayKey } from "../routing/health.ts";
import type { Routing } from "../routing/routing.ts";

/** A route of a model whose tasks can be done there now, by one of its provider's credentials. */
export interface TaskRoute {
  readonly key: WayKey;
  /** What the vendor allows the credential. */
  readonly bounds: CallBounds;
  /** The provider stands in it by the name that the books have for it. */
  readonly route: Route;
  /** Signed with the credential. */
  readonly provider: MediaProvider;
}

/** The routes of a model's tasks now, in the model's order. */
export function taskRoutes(offer: Offer, kind: TaskKind, modelId: string): readonly TaskRoute[] {
  const model = modelOf(offer, kind, modelId);
  return model === undefined ? [] : routesOf(offer, model, kind);
}

/** The same in the order of the model's setting; those that calls cannot be made on now come last. */
export function orderedRoutes(
  { order }: Pick<Routing, "order">,
  offer: Offer,
  kind: TaskKind,
  modelId: string,
): readonly TaskRoute[] {
  const model = modelOf(offer, kind, modelId);
  return model === undefined ? [] : order(routesOf(offer, model, kind), model, undefined);
}

function modelOf({ catalog }: Offer, kind: TaskKind, modelId: string): Model | undefined {
  return catalog.byId(modelId).find(({ category }) => category === kind);
}

function routesOf({ mediaProviders }: Offer, model: Model, kind: TaskKind): readonly TaskRoute[] {
  return model.routes.flatMap((route) => {
    const found = mediaProviders.get(route.provider);
    if (found?.adapters[kind] === undefined) return [];
    const credentials = found.credentials ?? [{ name: "", provider: found }];
    return credentials.map(({ name, provider, ...bounds }) => ({
      key: wayKey(model, route, name),
      bounds,
      route,
      provider,
    }));
  });
}

/**
 * Headers that say where a task's result comes from: of the provider that works on it, else of the one that is asked
 * first.
 */
export function providerHeaders(
  offer: Offer,
  kind: TaskKind,
  model: string,
  provider: string | null = null,
): Readonly<Record<string, string>> {
  const name = provider ?? taskRoutes(offer, kind, model)[0]?.route.provider;
  return (name === undefined ? undefined : offer.mediaProviders.get(name)?.answerHeaders) ?? {};
}
