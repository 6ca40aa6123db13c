import { GatewayError } from "../core/errors.ts";
import type { Category, Model } from "../core/model.ts";

/** The part of the list of models that is asked for; all of it where nothing is said. */
export interface PageRequest {
  /** Only models of this category are in the list. */
  readonly category?: Category;
  readonly limit?: number;
  /** The row next to the page, as the page before called it, and the query field that named it. */
  readonly cursor?: { readonly row: string; readonly side: "after" | "before"; readonly param: string };
}

/** A part of the list. */
export interface Page {
  readonly rows: readonly Model[];
  /** Whether there are more rows on the far side of this page. */
  readonly more: boolean;
  /** Cursors of the first and the last row; null where there is none. */
  readonly first: string | null;
  readonly last: string | null;
}

/** The part of `models` that is asked for. Throws a 400 for a cursor that is no row of them. */
export function pageOf(models: readonly Model[], { limit = models.length, cursor }: PageRequest): Page {
  const nameOf = rowNames(models);
  const at = models.findIndex((model) => nameOf(model) === cursor?.row);
  if (cursor !== undefined && at === -1) {
    throw new GatewayError("invalid_request_error", `${cursor.param} is no row of this list.`, {
      param: cursor.param,
    });
  }
  const before = cursor?.side === "before";
  // Without a cursor the page begins behind row -1.
  const rest = before ? models.slice(0, at) : models.slice(at + 1);
  const rows = before ? rest.slice(-limit) : rest.slice(0, limit);
  const [first, last] = [rows[0], rows.at(-1)];
  return {
    rows,
    more: rows.length < rest.length,
    first: first === undefined ? null : nameOf(first),
    last: last === undefined ? null : nameOf(last),
  };
}

/** A cursor is a row's id; where an id stands in two categories, the later row's is its unique id. */
function rowNames(models: readonly Model[]): (model: Model) => string {
  const firsts = new Map(models.toReversed().map((model) => [model.id, model]));
  return (model) => (firsts.get(model.id) === model ? model.id : model.uniqueId);
}
