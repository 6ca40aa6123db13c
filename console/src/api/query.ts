import { useInfiniteQuery as infiniteQuery, useQuery as query } from "@tanstack/solid-query";
import { $PROXY } from "solid-js";

/**
 * A query of the cache, as the library makes it, whose `data` is read without a resource of the framework.
 *
 * The library's `data` is read through one. Where a query was in the cache when its page was opened, that costs layout
 * and focus. With each change of the query's state the router takes the whole page out of the document, and puts it
 * back in the same task. The browser lays all of it out anew, and what had the focus loses it.
 * https://github.com/TanStack/query/issues/9955
 */
export const useQuery = ((...args: Parameters<typeof query>) => storeOf(query(...args))) as typeof query;

/** The same for a list that is read page after page. */
export const useInfiniteQuery = ((...args: Parameters<typeof infiniteQuery>) =>
  storeOf(infiniteQuery(...args))) as typeof infiniteQuery;

/** What the library returns is a store behind a proxy that turns to the resource for `data` alone. */
function storeOf<Query extends object>(query: Query): Query {
  return Reflect.get(query, $PROXY) as Query;
}
