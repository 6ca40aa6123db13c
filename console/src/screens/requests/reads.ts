import { type QueryClient, queryOptions } from "@tanstack/solid-query";
import { read } from "../../api/client.ts";
import { isOperatorIn } from "../../api/session.ts";
import { readSearch, type REQUESTS_SEARCH, type Search } from "../../lists/search.ts";
import { timedPages } from "../../lists/timed-pages.ts";
import type { ListPage } from "../../lists/read-whole.ts";
import type { PagesOptions } from "../../lists/use-pages.ts";
import type { RangeSearch } from "../../shell/range.ts";
import { LISTED, type RefusalRow, type RequestDetail, type RequestRow } from "./types.ts";

type RequestsSearch = Search<(typeof REQUESTS_SEARCH)[number]>;

/** What the lists of paid and of refused requests can be filtered by. */
export const PAID_FILTERS = ["id", "model", "provider", "outcome", "account_id", "key_id"] as const;
export const REFUSED_FILTERS = ["id", "model", "status", "code", "account_id", "key_id"] as const;

/** Paid requests that have ended, newest first. */
export function paidPages(search: RequestsSearch, time: RangeSearch): PagesOptions<RequestRow> {
  return timedPages(LISTED, readSearch(search, PAID_FILTERS), time, (query, signal) =>
    read("/admin/v1/requests", { query, signal }),
  );
}

/** Requests that were refused before anything was held for them, newest first. */
export function refusedPages(search: RequestsSearch, time: RangeSearch): PagesOptions<RefusalRow> {
  return timedPages(["refusals", "list"], readSearch(search, REFUSED_FILTERS), time, (query, signal) =>
    read("/admin/v1/refusals", { query, signal }),
  );
}

/** What stands behind the id of a request. */
export type Found =
  | { readonly kind: "paid"; readonly request: RequestDetail }
  | { readonly kind: "refused"; readonly refusal: RefusalRow }
  | { readonly kind: "none" };

/** The request of that id: one that was paid for, or one that was refused at once. */
export function requestQuery(id: string) {
  return queryOptions({
    queryKey: ["requests", "one", id],
    queryFn: ({ client, signal }): Promise<Found> =>
      isListed(client, id) ? readPaid(id, signal) : find(client, id, signal),
  });
}

/** Whether a list that was read before has the request. A reader who comes from there skips the search. */
function isListed(queries: QueryClient, id: string): boolean {
  const lists = queries.getQueriesData<{ readonly pages: readonly ListPage<RequestRow>[] }>({
    queryKey: LISTED,
  });
  return lists.some(([, list]) => list?.pages.some(({ data }) => data.some((row) => row.id === id)));
}

async function readPaid(id: string, signal: AbortSignal): Promise<Found> {
  return { kind: "paid", request: await read("/admin/v1/requests/{id}", { path: { id }, signal }) };
}

async function find(queries: QueryClient, id: string, signal: AbortSignal): Promise<Found> {
  const query = { id, limit: 1 };
  // The list tells without a 404 whether it was paid for.
  const paid = await read("/admin/v1/requests", { query, signal });
  if (paid.data.length > 0) return readPaid(id, signal);
  if (!isOperatorIn(queries)) return { kind: "none" };
  const { data } = await read("/admin/v1/refusals", { query, signal });
  return data[0] === undefined ? { kind: "none" } : { kind: "refused", refusal: data[0] };
}
