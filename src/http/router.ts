import { Hono } from "hono";
import { GatewayError } from "../core/errors.ts";
import { createAddresses } from "./addresses.ts";
import { createNotFound } from "./not-found.ts";
import type { Route, RouteContext } from "./route.ts";

/** What becomes of a request whose path is known. */
export interface Dispatch {
  readonly run: (route: Route, params: RouteContext["params"]) => Promise<Response>;
  /** The path is that of `route`, whatever the method. */
  readonly at: (route: Route | undefined) => void;
}

/**
 * Gives a request to the route of its path, which is as it was sent. Throws a 404 where there is none, a 405 where the
 * route takes another method.
 */
export type Router = (path: string, request: Request, dispatch: Dispatch) => Promise<Response> | Response;

/**
 * The router of a table. A path that stands for a documented one is looked up among the routes that ask for an API key
 * alone: whatever an address is turned into, it opens no other door.
 */
export function createRouter(routes: readonly Route[]): Router {
  const addressOf = createAddresses(routes);
  const notFound = createNotFound(routes);
  const all = createTable(routes, notFound);
  const forCallers = createTable(
    routes.filter(({ access }) => access === "key"),
    notFound,
  );
  return (path, request, dispatch) => {
    const address = addressOf(path);
    return (address === path ? all : forCallers)(address, request, dispatch);
  };
}

/** Routes that read the path themselves are asked first, in order; patterns come after them. */
function createTable(routes: readonly Route[], notFound: (path: string) => GatewayError): Router {
  const readers = routes.filter((route) => route.readPath !== undefined);
  const patterns = createPatterns(
    routes.filter((route) => route.readPath === undefined),
    notFound,
  );
  return (path, request, dispatch) => {
    for (const route of readers) {
      // It may say why a path is none of its own, in the words of its format.
      dispatch.at(route);
      const params = route.readPath?.(path, request.method);
      if (params === undefined) continue;
      if (methodOf(request) !== route.method) throw notAllowed(route.method.toUpperCase());
      return dispatch.run(route, params);
    }
    dispatch.at(undefined);
    return patterns.fetch(request, { ...dispatch, path });
  };
}

/** Asking for the head of an answer is asking for it; the server leaves the body out. */
function methodOf({ method }: Request): string {
  return method === "HEAD" ? "get" : method.toLowerCase();
}

function notAllowed(allow: string): GatewayError {
  return new GatewayError("method_not_allowed", `This path takes ${allow}.`, { headers: { allow } });
}

interface Patterns {
  readonly Bindings: Dispatch & { readonly path: string };
}

function createPatterns(routes: readonly Route[], notFound: (path: string) => GatewayError): Hono<Patterns> {
  const router = new Hono<Patterns>({ strict: true, getPath: (_, given) => decoded(given?.env?.path ?? "") });
  router.onError((error) => {
    throw error;
  });
  const paths = Map.groupBy(routes, (route) => route.path);
  for (const route of routes)
    router.on(route.method.toUpperCase(), route.path, (context) =>
      context.env.run(route, context.req.param()),
    );
  for (const [path, same] of paths) {
    const allow = same.map((route) => route.method.toUpperCase()).join(", ");
    router.all(path, (context) => {
      context.env.at(same[0]);
      throw notAllowed(allow);
    });
  }
  router.notFound((context) => {
    throw notFound(context.env.path);
  });
  return router;
}

/** The path as patterns see it. What would change its segments stays encoded: parameters are decoded by themselves, once. */
function decoded(path: string): string {
  return path.includes("%") ? decodeURI(path.replaceAll("%25", "%2525")) : path;
}
