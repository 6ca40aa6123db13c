import { queryOptions } from "@tanstack/solid-query";
import { read } from "../../api/client.ts";
import { routeId } from "./routes.ts";

const LIVE_MS = 5_000;

/** What the gateway says of itself. */
export const statusQuery = queryOptions({
  queryKey: ["status"],
  queryFn: ({ signal }) => read("/admin/v1/status", { signal }),
  refetchInterval: LIVE_MS,
});

/** How each route fares. */
export const routesQuery = queryOptions({
  queryKey: ["routes", "named"],
  refetchInterval: LIVE_MS,
  async queryFn({ signal }) {
    const { data } = await read("/admin/v1/routes", { signal });
    return data.map((route) => Object.assign(route, { id: routeId(route) }));
  },
});

/** An audit, from where the last one stopped: run when it is first shown, and again when it is asked for. */
export const auditQuery = queryOptions({
  queryKey: ["audit"],
  staleTime: Infinity,
  gcTime: Infinity,
  queryFn: ({ signal }) => read("/admin/v1/audit", { signal }),
});
