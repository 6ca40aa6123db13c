import type { Catalog } from "../catalog/catalog.ts";
import type { MediaProvider, Provider } from "../providers/provider.ts";

/** Which models there are and who serves them, as admission looks it up; one moment's view. */
export interface Offer {
  readonly catalog: Catalog;
  readonly providers: ReadonlyMap<string, Provider>;
  readonly mediaProviders: ReadonlyMap<string, MediaProvider>;
}
