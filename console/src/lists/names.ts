import { queryOptions } from "@tanstack/solid-query";
import { createMemo } from "solid-js";
import { type Entry, read } from "../api/client.ts";
import { modelsQuery } from "../api/models.ts";
import { useQuery } from "../api/query.ts";
import { whole } from "../api/whole.ts";
import { sessionQuery } from "../api/session.ts";

/** As many as one read gives. */
const MOST = 1_000;

const accountsQuery = queryOptions({
  queryKey: ["accounts", "names"],
  queryFn: ({ signal }) => read("/admin/v1/accounts", { query: { limit: MOST }, signal }),
  staleTime: 60_000,
  select: whole,
});

const keysQuery = queryOptions({
  queryKey: ["keys", "names"],
  queryFn: ({ signal }) => read("/admin/v1/keys", { query: { limit: MOST }, signal }),
  staleTime: 60_000,
  select: whole,
});

const routesQuery = queryOptions({
  queryKey: ["routes"],
  queryFn: ({ signal }) => read("/admin/v1/routes", { signal }),
  staleTime: 60_000,
  select: whole,
});

/** Whether an operator is signed in, who may see all accounts and keys. */
export function useIsOperator(): () => boolean {
  const session = useQuery(() => sessionQuery);
  return () => session.data?.role === "operator";
}

/** The accounts and keys that there are, for their names. Empty where the reader may not see them. */
export function useNames() {
  const isOperator = useIsOperator();
  const accounts = useQuery(() => ({ ...accountsQuery, enabled: isOperator() }));
  const keys = useQuery(() => ({ ...keysQuery, enabled: isOperator() }));
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
  const models = useQuery(() => modelsQuery);
  const routes = useQuery(() => ({ ...routesQuery, enabled: isOperator() }));
  const providers = createMemo(() => {
    // A provider of media or one in the sandbox has a longer name among the routes than in rows.
    const all = routes.isSuccess ? routes.data.data.map(({ provider }) => provider.replace(/:.*/, "")) : [];
    return [...new Set(all)].toSorted();
  });
  return { models: () => (models.isSuccess ? models.data.data.map(({ id }) => id) : []), providers };
}
