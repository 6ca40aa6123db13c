import { useQuery } from "@tanstack/solid-query";
import { createMemo } from "solid-js";
import { type Entry, read } from "../api/client.ts";
import { sessionQuery } from "../api/session.ts";

/** As many as one read gives. */
const MOST = 1_000;

/** Whether an operator is signed in, who may see all accounts and keys. */
export function useIsOperator(): () => boolean {
  const session = useQuery(() => sessionQuery);
  return () => session.data?.role === "operator";
}

/** The accounts and keys that there are, for their names. Empty where the reader may not see them. */
export function useNames() {
  const isOperator = useIsOperator();
  const accounts = useQuery(() => ({
    queryKey: ["accounts", "names"],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      read("/admin/v1/accounts", { query: { limit: MOST }, signal }),
    enabled: isOperator(),
    staleTime: 60_000,
  }));
  const keys = useQuery(() => ({
    queryKey: ["keys", "names"],
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      read("/admin/v1/keys", { query: { limit: MOST }, signal }),
    enabled: isOperator(),
    staleTime: 60_000,
  }));
  const allAccounts = (): readonly Entry<"/admin/v1/accounts">[] =>
    accounts.isSuccess ? accounts.data.data : [];
  const allKeys = (): readonly Entry<"/admin/v1/keys">[] => (keys.isSuccess ? keys.data.data : []);
  const names = createMemo(
    () => new Map([...allAccounts(), ...allKeys()].map(({ id, name }) => [id, name] as const)),
  );
  return { accounts: allAccounts, keys: allKeys, nameOf: (id: string) => names().get(id) };
}

/** The ids of the models and the names of the providers that are there, to choose from. */
export function useChoices() {
  const isOperator = useIsOperator();
  const models = useQuery(() => ({
    queryKey: ["models"],
    queryFn: ({ signal }: { signal: AbortSignal }) => read("/api/v1/models", { signal }),
    staleTime: 60_000,
  }));
  const routes = useQuery(() => ({
    queryKey: ["routes"],
    queryFn: ({ signal }: { signal: AbortSignal }) => read("/admin/v1/routes", { signal }),
    enabled: isOperator(),
    staleTime: 60_000,
  }));
  const providers = createMemo(() => {
    // A provider of media or one in the sandbox has a longer name among the routes than in rows.
    const all = routes.isSuccess ? routes.data.data.map(({ provider }) => provider.replace(/:.*/, "")) : [];
    return [...new Set(all)].toSorted();
  });
  return { models: () => (models.isSuccess ? models.data.data.map(({ id }) => id) : []), providers };
}
