import type { Static, TSchema } from "typebox";
import { GatewayError } from "../../../core/errors.ts";
import { BROKEN, openScan, skipSpace, skipValue } from "../../../core/json/json-scan.ts";
import { compileSchema, faultSentence, type SchemaFault } from "../../../core/schema.ts";
import type { PageRequest } from "../../../gateway/admin/page.ts";
import type { RouteContext } from "../../route.ts";

/** A reader for bodies of `schema`; any other body is a 400 that names the field. */
export function bodyOf<S extends TSchema>(schema: S): (context: RouteContext) => Promise<Static<S>> {
  const checker = compileSchema(schema);
  return async (context) => {
    const value = parse(await context.readBody());
    context.memory.hold(0);
    if (!checker.accepts(value)) throw refusal(checker.faultOf(value));
    const fault = textFault(value, "");
    if (fault !== undefined) throw refusal(fault);
    return value;
  };
}

/** The first text within `value` that not every store keeps as it is: a NUL, or half of a surrogate pair. */
function textFault(value: unknown, path: string): SchemaFault | undefined {
  if (typeof value === "string") {
    if (value.includes("\0")) return { path, problem: "must not have a NUL in it" };
    return value.isWellFormed() ? undefined : { path, problem: "must be whole Unicode characters" };
  }
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === "" ? name : `${path}.${name}`;
    const fault = textFault(member, at);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function refusal(fault: SchemaFault): GatewayError {
  const details = fault.path === "" ? {} : { param: fault.path };
  return new GatewayError("invalid_request_error", faultSentence(fault), details);
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
