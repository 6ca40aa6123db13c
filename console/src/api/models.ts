import { queryOptions } from "@tanstack/solid-query";
import { read } from "./client.ts";
import { whole } from "./whole.ts";

/** The models that the session may use. */
export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: ({ signal }) => read("/api/v1/models", { signal }),
  staleTime: 60_000,
  select: whole,
});
