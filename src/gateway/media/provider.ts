import type { TaskKind } from "../../core/task.ts";
import type { MediaProvider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";

/** The provider of a model's tasks now, with the name that the route has for it; `undefined` while there is none. */
export function taskProvider(
  { catalog, mediaProviders }: Offer,
  kind: TaskKind,
  modelId: string,
): { readonly name: string; readonly provider: MediaProvider } | undefined {
  const model = catalog.byId(modelId).find(({ category }) => category === kind);
  for (const { provider: name } of model?.routes ?? []) {
    const provider = mediaProviders.get(name);
    if (provider !== undefined) return { name, provider };
  }
  return undefined;
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
  const name = provider ?? taskProvider(offer, kind, model)?.name;
  return (name === undefined ? undefined : offer.mediaProviders.get(name)?.answerHeaders) ?? {};
}
