import type { TaskKind } from "../../core/task.ts";
import type { MediaProvider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";

/** A route of a model whose tasks can be done there now. */
export interface TaskRoute {
  /** The provider's name, by which routes and the books call it. */
  readonly name: string;
  readonly provider: MediaProvider;
  /** What the provider calls the model. */
  readonly upstreamId: string;
}

/** The routes of a model's tasks now, in their order. */
export function taskRoutes(
  { catalog, mediaProviders }: Offer,
  kind: TaskKind,
  modelId: string,
): readonly TaskRoute[] {
  const model = catalog.byId(modelId).find(({ category }) => category === kind);
  return (model?.routes ?? []).flatMap(({ provider: name, upstreamId }) => {
    const provider = mediaProviders.get(name);
    return provider?.adapters[kind] === undefined ? [] : [{ name, provider, upstreamId }];
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
  const name = provider ?? taskRoutes(offer, kind, model)[0]?.name;
  return (name === undefined ? undefined : offer.mediaProviders.get(name)?.answerHeaders) ?? {};
}
