import { googleModel, publicModel, type Catalog } from "../catalog/catalog.ts";
import { servicePage } from "../catalog/llms-index.ts";
import { modelPage } from "../catalog/llms-txt.ts";
import type { GoogleModel, ModelAnswer, ModelList } from "../catalog/schema.ts";
import type { Caller } from "../core/caller.ts";
import { CATEGORIES, type Model } from "../core/model.ts";
import { GatewayError } from "../core/errors.ts";
import { mayUse, noLiveProvider, resolveId } from "./find-model.ts";
import { pageOf, type PageRequest } from "./model-page.ts";

/** The enabled models that the caller's key may use, in the order of the catalogue: a page of them, or all. */
export function listModels(
  catalog: Catalog,
  caller: Caller,
  page: PageRequest,
  publicUrl: string,
): ModelList {
  const { rows, more, first, last } = pageOf(
    catalog.models.filter(
      ({ id, category }) => mayUse(caller, id) && category === (page.category ?? category),
    ),
    page,
  );
  return {
    object: "list",
    data: rows.map((model) => publicModel(model, publicUrl)),
    has_more: more,
    first_id: first,
    last_id: last,
    models: rows.map(({ id }) => googleRow(catalog, id)),
    ...(more && last !== null && page.cursor?.side !== "before" ? { nextPageToken: last } : {}),
  };
}

/**
 * One model that the caller's key may use, by any name that requests take. An id that stands in several categories is
 * the language one unless `category` says otherwise. Throws a 404 for an unknown name or category, and a 400 for a name
 * that several models have.
 */
export function findPublicModel(
  catalog: Catalog,
  caller: Caller,
  { name, category }: { readonly name: string; readonly category: string | undefined },
  publicUrl: string,
): { readonly model: ModelAnswer; readonly warnings: readonly string[] } {
  const { id, warnings } = resolveId(catalog, caller, name, undefined, "not_found_error");
  if (catalog.byId(id).length === 0) throw noLiveProvider(catalog, id, undefined, "not_found_error");
  const model = rowOf(catalog, id, category);
  if (model === undefined) throw noModel(id);
  return { model: { ...publicModel(model, publicUrl), ...googleRow(catalog, id) }, warnings };
}

/** Google's clients know a model by its name alone: what they read is the same in each category. */
function googleRow(catalog: Catalog, id: string): GoogleModel {
  const model = rowOf(catalog, id, undefined);
  if (model === undefined) throw noModel(id);
  return googleModel(model);
}

/** The page of a model, as Markdown. Throws a 404 that says where the index of all pages is. */
export function findModelPage(catalog: Catalog, id: string, category: string, publicUrl: string): string {
  const model = rowOf(catalog, id, category);
  if (model === undefined) throw noModel(id, ` All pages: ${publicUrl}/llms.txt`);
  return modelPage(model, publicUrl);
}

/** The index of all pages, as Markdown. */
export function servicePageOf(catalog: Catalog, publicUrl: string): string {
  return servicePage(catalog.models, publicUrl);
}

function rowOf(catalog: Catalog, id: string, category: string | undefined): Model | undefined {
  const order = (model: Model): number => CATEGORIES.indexOf(model.category);
  return catalog
    .byId(id)
    .filter((model) => category === undefined || model.category === category)
    .toSorted((a, b) => order(a) - order(b))[0];
}

function noModel(id: string, hint = ""): GatewayError {
  return new GatewayError(
    "not_found_error",
    `There is no model ${JSON.stringify(id.slice(0, 100))} in this category.${hint}`,
    { code: "model_not_found" },
  );
}
