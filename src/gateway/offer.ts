import type { Catalog } from "../catalog/catalog.ts";
import type { MediaProvider, Provider } from "../providers/provider.ts";

/** The models and their providers, for admission; a snapshot. */
export interface Offer {
  readonly catalog: Catalog;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly mediaProviders: ReadonlyMap<string, MediaProvider>;
}
