import type { TaskKind } from "../../core/task.ts";
import type { MediaProvider } from "../../providers/provider.ts";
import type { Offer } from "../offer.ts";

/** Who does tasks of a model now, by the name that its route has for it; `undefined` while nobody does. */
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

/** Headers that say where a task's result comes from: from who works on it, else from who is asked first. */
export function providerHeaders(
  offer: Offer,
  kind: TaskKind,
  model: string,
  provider: string | null = null,
): Readonly<Record<string, string>> {
  const name = provider ?? taskProvider(offer, kind, model)?.name;
  return (name === undefined ? undefined : offer.mediaProviders.get(name)?.answerHeaders) ?? {};
}
