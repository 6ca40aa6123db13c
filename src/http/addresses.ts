import type { Route } from "./route.ts";

/** The base of the interface for callers: each of its routes is below, and no other route is. */
export const BASE = "/api/v1";

/**
 * Bases that clients use instead: people set the base address of other services, and an SDK adds its own version to any
 * base.
 */
const PREFIX = /^(?:\/api)?(?:\/v1(?:beta)?)*(?=\/|$)/;

/** The documented address that a path stands for; the path itself where it is one, or is no route's. */
export type Addresses = (path: string) => string;

/**
 * Turns every path that clients make into the documented one, before routing. Doubled slashes and one at the end do not
 * count. Anything beside the interface for callers (`/admin`, `/assets`, `/healthz`, …) has exactly its own address.
 * Any other path becomes one below `/api/v1`, so that no spelling leads to those. Percent-encoding stays.
 */
export function createAddresses(routes: readonly Route[]): Addresses {
  const others = routes.filter(({ path }) => !path.startsWith(`${BASE}/`));
  const own = new Set(others.filter(({ path }) => path !== "/").map(({ path }) => firstSegmentOf(path)));
  return (path) =>
    isDocumented(path) || path === "/" || own.has(firstSegmentOf(path)) ? path : documentedAddress(path);
}

/** The case of nearly every request. */
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
