import { GatewayError } from "../core/errors.ts";
import { createAddresses } from "./addresses.ts";
import { createNotFound } from "./not-found.ts";
import type { Route, RouteContext } from "./route.ts";

/** Where a known path leads. */
export interface Dispatch {
  run(route: Route, params: RouteContext["params"]): Promise<Response> | Response;
  /** The path is that of `route`, whatever the method. */
  at(route: Route | undefined): void;
}

/**
 * Gives a request to the route of its path, which is as it was sent. Throws a 404 where there is none, a 405 where the
 * route takes another method.
 */
export type Router = (path: string, request: Request, dispatch: Dispatch) => Promise<Response> | Response;

/**
 * The router of a table. A path that stands for a documented one is looked up only among the routes for API keys. No
 * spelling of an address leads to any other route.
 */
export function createRouter(routes: readonly Route[]): Router {
  const addressOf = createAddresses(routes);
  const notFound = createNotFound(routes);
  const all = createTable(routes, notFound);
  const forCallers = createTable(
    routes.filter(({ access }) => access === "key"),
    notFound,
  );
  const plain = plainRoutes(routes.filter(({ path }) => addressOf(path) === path));
  return (path, request, dispatch) => {
    const route = plain.get(`${request.method} ${path}`);
    if (route !== undefined) return dispatch.run(route, NO_PARAMS);
    const address = addressOf(path);
    return (address === path ? all : forCallers)(address, request, dispatch);
  };
}

const NO_PARAMS: RouteContext["params"] = {};

/**
 * The routes without parameters by method and path: nearly all requests need one look-up. A route that the table would
 * not find by its own path is left out, since another one stands before it.
 */
function plainRoutes(routes: readonly Route[]): ReadonlyMap<string, Route> {
  const isPlain = ({ path, readPath }: Route): boolean => readPath === undefined && !path.includes(":");
  const isFirst = ({ path, method }: Route): boolean =>
    routes.every(({ readPath }) => readPath?.(path, method.toUpperCase()) === undefined) &&
    routes.find((other) => other.readPath === undefined && formOf(other.path).test(path))?.path === path;
  const plain = routes.filter((route) => isPlain(route) && isFirst(route));
  return new Map(plain.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]));
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
      // It may say why a path is none of its own, in the errors of its format.
      dispatch.at(route);
      const params = route.readPath?.(path, request.method);
      if (params === undefined) continue;
      if (methodOf(request) !== route.method) throw notAllowed(route.method.toUpperCase());
      return dispatch.run(route, params);
    }
    dispatch.at(undefined);
    return patterns(path, request, dispatch);
  };
}

/** A HEAD request is handled as a GET; the server leaves the body out. */
function methodOf({ method }: Request): string {
  return method === "HEAD" ? "get" : method.toLowerCase();
}

function notAllowed(allow: string): GatewayError {
  return new GatewayError("method_not_allowed", `This path takes ${allow}.`, { headers: { allow } });
}

/** The routes of one path, and how the path is matched. */
interface Pattern {
  readonly form: RegExp;
  readonly routes: readonly Route[];
}

/** `:name` stands for one segment, `:name{.+}` for any number of them; of two patterns the first counts. */
function createPatterns(routes: readonly Route[], notFound: (path: string) => GatewayError): Router {
  const patterns = [...Map.groupBy(routes, ({ path }) => path)].map(([path, same]): Pattern => ({
    form: formOf(path),
    routes: same,
  }));
  return async (path, request, dispatch) => {
    const shown = decoded(path);
    for (const { form, routes: same } of patterns) {
      const match = form.exec(shown);
      if (match === null) continue;
      const route = same.find(({ method }) => method === methodOf(request));
      if (route === undefined) {
        dispatch.at(same[0]);
        throw notAllowed(same.map(({ method }) => method.toUpperCase()).join(", "));
      }
      const parts = Object.entries(match.groups ?? {});
      const params = Object.fromEntries(parts.map(([name, part]) => [name, decodeURIComponent(part)]));
      const response = await dispatch.run(route, params);
      return request.method === "HEAD" ? new Response(null, response) : response;
    }
    throw notFound(path);
  };
}

function formOf(path: string): RegExp {
  const parts = path.split(/(:\w+(?:\{[^}]*\})?)/).map((part) => {
    const [, name, form = "[^/]+"] = /^:(\w+)(?:\{(.+)\})?$/.exec(part) ?? [];
    return name === undefined ? RegExp.escape(part) : `(?<${name}>${form})`;
  });
  return new RegExp(`^${parts.join("")}$`);
}

/**
 * The path for patterns. Characters that would change its segments stay encoded: parameters are decoded by themselves,
 * once.
 */
export function decoded(path: string): string {
  return path.includes("%") ? decodeURI(path.replaceAll("%25", "%2525")) : path;
}
