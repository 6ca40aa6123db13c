import { GatewayError, quoted } from "../core/errors.ts";
import type { Route } from "./route.ts";

/**
 * Refuses a query with a name that the route does not know, or one that stands twice: whoever mistypes a filter must not
 * be given everything. Throws a 400 that names it.
 */
export function refuseOddQuery({ query = {} }: Pick<Route, "query">, given: URLSearchParams): void {
  const seen = new Set<string>();
  for (const name of given.keys()) {
    const told = name.slice(0, 64);
    if (!Object.hasOwn(query, name)) throw odd(`${quoted(told)} is not known here. ${takes(query)}`, told);
    if (seen.has(name)) throw odd(`${quoted(told)} stands twice in the query: send it once.`, told);
    seen.add(name);
  }
}

function takes(query: NonNullable<Route["query"]>): string {
  const names = Object.keys(query);
  return names.length === 0 ? "This path takes no query." : `The query takes ${names.join(", ")}.`;
}

function odd(message: string, param: string): GatewayError {
  return new GatewayError("invalid_request_error", message, { param });
}
