import { BASE } from "../addresses.ts";
import type { Route } from "../route.ts";

/** The base of what the console calls. */
export const CONSOLE = "/console/api";

const ADMIN = "/admin/v1";

/** The base of its calls by a key. */
export const PLAY = `${CONSOLE}/play`;

/** What a developer's session may read of the admin interface, narrowed to its key (`ownAdmin`). */
const FOR_DEVELOPERS: ReadonlySet<string> = new Set([
  "/requests",
  "/requests/:id",
  "/usage",
  "/prices",
  "/keys/:id",
  "/accounts/:id/ledger",
  "/tasks",
  "/tasks/:id",
]);

/**
 * The same routes for sessions of the console: the admin interface and the models below `/console/api`, calls by key
 * below `/console/api/play`. Only the credential differs.
 */
export function routesForSessions(routes: readonly Route[]): readonly Route[] {
  return routes.flatMap((route): readonly Route[] => {
    if (route.access === "admin" && route.path.startsWith(`${ADMIN}/`)) return [forSessions(route)];
    // Kept answers are the account's, whichever of its keys asked: no session reads them.
    if (route.access !== "key" || route.path.startsWith(`${BASE}/responses/:id`)) return [];
    const play: Route = { ...moved(route, BASE, PLAY), access: "play" };
    return route.tag === "models" ? [play, { ...moved(route, BASE, CONSOLE), access: "session" }] : [play];
  });
}

function forSessions(route: Route): Route {
  const isForAll = route.method === "get" && FOR_DEVELOPERS.has(route.path.slice(ADMIN.length));
  return { ...moved(route, ADMIN, CONSOLE), access: isForAll ? "session" : "operator" };
}

function moved(route: Route, from: string, to: string): Route {
  const { readPath } = route;
  const path = to + route.path.slice(from.length);
  if (readPath === undefined) return { ...route, path };
  return {
    ...route,
    path,
    readPath: (asked, method) =>
      asked.startsWith(`${to}/`) ? readPath(from + asked.slice(to.length), method) : undefined,
  };
}
