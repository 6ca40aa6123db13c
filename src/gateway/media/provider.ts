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
