import { publicModel, type Catalog } from "../catalog/catalog.ts";
import type { PublicModel } from "../catalog/schema.ts";
import { CATEGORIES } from "../core/model.ts";
import { GatewayError } from "../core/errors.ts";

/** Every enabled model, as the interface lists them. */
export function listModels(catalog: Catalog, publicUrl: string): { object: "list"; data: PublicModel[] } {
  return { object: "list", data: catalog.models.map((model) => publicModel(model, publicUrl)) };
}

/**
 * One model. An id that stands in several categories is the language one unless `category` says otherwise; an
 * unknown id, and an unknown category, are 404.
 */
export function findPublicModel(
  catalog: Catalog,
  id: string,
  category: string | undefined,
  publicUrl: string,
): PublicModel {
  const found = catalog.byId(id).filter((model) => category === undefined || model.category === category);
  const order = (model: { category: (typeof CATEGORIES)[number] }): number =>
    CATEGORIES.indexOf(model.category);
  const [model] = found.toSorted((a, b) => order(a) - order(b));
  if (model === undefined) {
    throw new GatewayError(
      "not_found_error",
      `There is no model ${JSON.stringify(id.slice(0, 100))}${category === undefined ? "" : " in this category"}.`,
    );
  }
  return publicModel(model, publicUrl);
}
