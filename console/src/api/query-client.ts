import { QueryCache, QueryClient } from "@tanstack/solid-query";
import { ApiError } from "./client.ts";
import { forgetSession } from "./session.ts";

/** What was read of the gateway, shared by all screens. */
export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError(error) {
      if (error instanceof ApiError && error.status === 401) forgetSession(queries);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500),
    },
  },
});
