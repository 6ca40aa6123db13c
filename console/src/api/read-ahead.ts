import type { FetchInfiniteQueryOptions, FetchQueryOptions } from "@tanstack/solid-query";
import { sendReads } from "./client.ts";
import { queries } from "./query-client.ts";
import { sessionQuery } from "./session.ts";

/**
 * Begins reads, also of lists, before the page that shows them is drawn, so that the gateway works while the browser does.
 * Their failures are shown by the page, which reads again. Does nothing while nobody is known to be signed in.
 */
export function readAhead(wanted: readonly object[]): void {
  if (!queries.getQueryData(sessionQuery.queryKey)) return;
  for (const query of wanted)
    void ("initialPageParam" in query
      ? queries.prefetchInfiniteQuery(query as FetchInfiniteQueryOptions)
      : queries.prefetchQuery(query as FetchQueryOptions));
  sendReads();
}
