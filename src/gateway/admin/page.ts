import { GatewayError } from "../../core/errors.ts";

/** A page of a list: hand `next` back as `after` for the page that follows; null on the last. */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly next: string | null;
}

/** Behind which row a page begins, and how long it is. */
export interface PageRequest {
  readonly after: bigint | undefined;
  readonly limit: number;
}

/** Makes the page of `rows`, which were read with one more than `limit`. */
export function toPage<Row extends { readonly seq: bigint }, Item>(
  rows: readonly Row[],
  limit: number,
  view: (row: Row) => Item,
): Page<Item> {
  const shown = rows.slice(0, limit);
  return { data: shown.map(view), next: rows.length > limit ? String(shown.at(-1)?.seq) : null };
}

/**
 * The number of the row behind which a page begins; `undefined` for the first page. Throws a 400 for any other text.
 */
export function readCursor(after: string | undefined): bigint | undefined {
  if (after === undefined) return undefined;
  if (!/^\d{1,18}$/.test(after)) {
    throw new GatewayError("invalid_request_error", "after must be the next of an earlier page.", {
      param: "after",
    });
  }
  return BigInt(after);
}
