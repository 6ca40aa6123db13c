import { publicModel, type Catalog } from "../catalog/catalog.ts";
import { servicePage } from "../catalog/llms-index.ts";
import { modelPage } from "../catalog/llms-txt.ts";
import type { PublicModel } from "../catalog/schema.ts";
import type { Caller } from "../core/caller.ts";
import { CATEGORIES, type Model } from "../core/model.ts";
import { GatewayError } from "../core/errors.ts";

/** The enabled models that the caller's key may use, in the order of the catalogue, as the interface lists them. */
export function listModels(
  catalog: Catalog,
  caller: Caller,
  publicUrl: string,
): { object: "list"; data: PublicModel[] } {
  const data = catalog.models
    .filter((model) => mayUse(caller, model))
    .map((model) => publicModel(model, publicUrl));
  return { object: "list", data };
}

/**
 * One model that the caller's key may use. An id that stands in several categories is the language one unless
 * `category` says otherwise; an unknown id, and an unknown category, are 404.
 */
export function findPublicModel(
  catalog: Catalog,
  caller: Caller,
  { id, category }: { readonly id: string; readonly category: string | undefined },
  publicUrl: string,
): PublicModel {
  const model = findModel(catalog, id, category);
  if (model === undefined || !mayUse(caller, model)) throw noModel(id, category);
  return publicModel(model, publicUrl);
}

/** The page of a model, as Markdown. Throws a 404 that says where the index of all pages is. */
export function findModelPage(catalog: Catalog, id: string, category: string, publicUrl: string): string {
  const model = findModel(catalog, id, category);
  if (model === undefined) throw noModel(id, category, ` All pages: ${publicUrl}/llms.txt`);
  return modelPage(model, publicUrl);
}

/** The index of all pages, as Markdown. */
export function servicePageOf(catalog: Catalog, publicUrl: string): string {
  return servicePage(catalog.models, publicUrl);
}

function mayUse({ models }: Caller, { id }: Model): boolean {
  return models === null || models.has(id);
}

function findModel(catalog: Catalog, id: string, category: string | undefined): Model | undefined {
  const order = (model: Model): number => CATEGORIES.indexOf(model.category);
  return catalog
    .byId(id)
    .filter((model) => category === undefined || model.category === category)
    .toSorted((a, b) => order(a) - order(b))[0];
}

function noModel(id: string, category: string | undefined, hint = ""): GatewayError {
  const where = category === undefined ? "" : " in this category";
  return new GatewayError(
    "not_found_error",
    `There is no model ${JSON.stringify(id.slice(0, 100))}${where}.${hint}`,
  );
}
