import type { Model, Route } from "../../core/model.ts";
import { tokensFor } from "../../core/media/media-model.ts";
import { operatorCost } from "../../core/money/operator-cost.ts";
import type { Prices } from "../../core/money/price.ts";
import { NO_USAGE, type Usage } from "../../core/money/usage.ts";
import type { TaskKind } from "../../core/task.ts";
import type { TaskTerms } from "../../ledger/reads/task-hold.ts";
import type { MediaProvider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";
import { wayKey } from "../routing/offered-ways.ts";
import type { CallBounds } from "../routing/bounds.ts";
import type { WayKey } from "../routing/way-key.ts";
import type { Way } from "../routing/order.ts";
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

/** The routes of a model's tasks now, as they are listed. */
export function taskRoutes(offer: Offer, kind: TaskKind, modelId: string): readonly TaskRoute[] {
  const model = modelOf(offer, kind, modelId);
  return model === undefined ? [] : routesOf(offer, model, kind);
}

/** A task, as far as the order of its routes goes by it. */
export interface RoutedTask {
  readonly kind: TaskKind;
  readonly model: string;
  readonly terms: TaskTerms;
  /** See `OrderTerms`. */
  readonly drawKey?: number;
}

/**
 * Routes of a task in the order that its client asks for, else in that of the model's setting. Those that calls cannot
 * be made on now come last.
 */
export function inOrder<Each extends Way>(
  { order }: Pick<Routing, "order">,
  offer: Offer,
  { kind, model: id, terms, drawKey }: RoutedTask,
  routes: readonly Each[],
): readonly Each[] {
  const model = modelOf(offer, kind, id);
  if (model === undefined) return routes;
  return order(routes, model, {
    drawKey,
    by: terms.by,
    costOf: ({ cost }) => unitCost(model, cost ?? model.prices, terms),
  });
}

/** What an image, or a second of video, costs as it is asked for, without its input. */
function unitCost(
  { category, media, prices: own }: Model,
  prices: Prices,
  { pricedAtMs, facts = {} }: TaskTerms,
): number {
  const tokens = tokensFor(media?.outputTokens ?? [], facts);
  const usage: Usage =
    category === "image"
      ? { ...NO_USAGE, imageOutput: tokens, images: 1 }
      : { ...NO_USAGE, output: tokens, seconds: 1 };
  const cost = operatorCost(prices, usage, { pricedAtMs, facts });
  // What cannot be worked out counts at the model's price.
  return Number(cost ?? operatorCost(own, usage, { pricedAtMs, facts }) ?? 0n);
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
