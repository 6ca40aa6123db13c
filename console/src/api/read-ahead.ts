import type { FetchInfiniteQueryOptions, FetchQueryOptions } from "@tanstack/solid-query";
import { sendReads } from "./client.ts";
import { queries } from "./query-client.ts";
import { sessionQuery } from "./session.ts";

/**
 * Begins reads, also of lists, before the page that shows them is drawn, so that the gateway works while the browser does.
 * Their failures are shown by the page, which reads again. A list that was read before is the page's to read again. Without
 * a session it does nothing.
 */
export function readAhead(wanted: readonly object[]): void {
  if (!queries.getQueryData(sessionQuery.queryKey)) return;
  for (const query of wanted) {
    if (!("initialPageParam" in query)) void queries.prefetchQuery(query as FetchQueryOptions);
    else if (queries.getQueryData((query as FetchInfiniteQueryOptions).queryKey) === undefined)
      void queries.prefetchInfiniteQuery(query as FetchInfiniteQueryOptions);
  }
  sendReads();
}
