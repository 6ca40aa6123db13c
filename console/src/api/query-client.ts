import { QueryClient } from "@tanstack/solid-query";
import { ApiError, onSessionEnd } from "./client.ts";
import { endSession, followTabs } from "./session.ts";

/** What was read of the gateway, shared by all screens. */
export const queries: QueryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A gateway on this machine or this network answers without the internet.
      networkMode: "always",
      staleTime: 15_000,
      refetchOnWindowFocus: false,
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500),
    },
    mutations: { networkMode: "always" },
  },
});

onSessionEnd((why) => endSession(queries, why.message));
followTabs(queries);
