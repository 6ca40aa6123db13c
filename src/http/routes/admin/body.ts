import type { Static, TSchema } from "typebox";
import { GatewayError } from "../../../core/errors.ts";
import { BROKEN, openScan, skipSpace, skipValue } from "../../../core/json-scan.ts";
import { compileSchema, faultSentence } from "../../../core/schema.ts";
import type { PageRequest } from "../../../gateway/admin.ts";
import type { RouteContext } from "../../route.ts";

/** A reader for bodies of `schema`; a body that is not of it is a 400 that names the field. */
export function bodyOf<S extends TSchema>(schema: S): (context: RouteContext) => Promise<Static<S>> {
  const checker = compileSchema(schema);
  return async (context) => {
    const value = parse(await context.readBody());
    if (checker.accepts(value)) return value;
    const fault = checker.faultOf(value);
    throw new GatewayError(
      "invalid_request_error",
      faultSentence(fault),
      fault.path === "" ? {} : { param: fault.path },
    );
  };
}

function parse(bytes: Uint8Array): unknown {
  const scan = openScan(bytes, bytes.length, 16, 10_000);
  if (skipValue(scan, skipSpace(scan, 0)) === BROKEN) throw notJson();
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw notJson();
  }
}

function notJson(): GatewayError {
  return new GatewayError("invalid_request_error", "The body is not valid JSON in UTF-8.");
}

/** The page that a list request asks for. */
export function pageOf(query: URLSearchParams): PageRequest {
  const limit = Number(query.get("limit") ?? "100");
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new GatewayError("invalid_request_error", "limit must be a whole number from 1 to 1000.", {
      param: "limit",
    });
  }
  return { after: query.get("after") ?? undefined, limit };
}
