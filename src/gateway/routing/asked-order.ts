import type { Caller } from "../../core/caller.ts";
import { ROUTE_ORDERS, type RouteOrder } from "../../core/model.ts";
import { wrong } from "../../protocols/request-json.ts";

const HEADER = "x-switchyard-route";

/** The order of routes that the caller asks for. Throws a 400 for a key that may not, and for one that there is not. */
export function orderAsked({ routes }: Caller, headers: Pick<Headers, "get">): RouteOrder | undefined {
  const text = headers.get(HEADER);
  if (text === null) return undefined;
  if (routes !== true)
    throw wrong(HEADER, "is for keys that may choose routes: leave it out, or ask the operator");
  const by = ROUTE_ORDERS.find((order) => order === text);
  if (by === undefined) throw wrong(HEADER, `must be one of ${ROUTE_ORDERS.join(", ")}`);
  return by;
}
