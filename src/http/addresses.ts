import type { Route } from "./route.ts";

/** Where the interface for callers is documented: each of its routes stands below, and no other does. */
export const BASE = "/api/v1";

/**
 * What clients put before an endpoint instead: people set the base address that other services have, and an SDK adds a
 * version of its own to whatever it is given.
 */
const PREFIX = /^(?:\/api)?(?:\/v1(?:beta)?)*(?=\/|$)/;

/** The documented address that a path stands for; itself where it is one, or nobody's but its own. */
export type Addresses = (path: string) => string;

/**
 * Leads every path that clients make to the documented one, before it is routed. Slashes that are doubled or at the end
 * count as none. What is not part of the interface for callers (`/admin`, `/assets`, `/healthz`, …) has exactly its own
 * address; any other path becomes one below `/api/v1`, so that no spelling leads to those. Percent-encoding stays.
 */
export function createAddresses(routes: readonly Route[]): Addresses {
  const others = routes.filter(({ path }) => !path.startsWith(`${BASE}/`));
  const own = new Set(others.map(({ path }) => firstSegmentOf(path)));
  return (path) => (isDocumented(path) || own.has(firstSegmentOf(path)) ? path : documentedAddress(path));
}

/** What nearly every request has. */
function isDocumented(path: string): boolean {
  return (
    path.startsWith("/api/v1/") && !path.startsWith("v1", 8) && !path.includes("//") && !path.endsWith("/")
  );
}

/** The path below `/api/v1` that a path of any spelling stands for. */
export function documentedAddress(path: string): string {
  const plain = path.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  return BASE + plain.replace(PREFIX, "");
}

function firstSegmentOf(path: string): string {
  const end = path.indexOf("/", 1);
  return end === -1 ? path : path.slice(0, end);
}
