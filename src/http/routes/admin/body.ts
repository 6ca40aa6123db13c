import { type Static, type TSchema, Type } from "typebox";
import { GatewayError } from "../../../core/errors.ts";
import { BROKEN, openScan, skipSpace, skipValue } from "../../../core/json/json-scan.ts";
import { compileSchema, faultSentence, type SchemaFault } from "../../../core/schema.ts";
import { type PageRequest, readCursor } from "../../../gateway/admin/page.ts";
import type { TimeRange } from "../../../gateway/admin/time-range.ts";
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
  return { after: readCursor(query.get("after") ?? undefined), limit: countOf(query, "limit") ?? 100 };
}

/** How many a query asks for; throws a 400 for anything but 1 to 1000. */
export function countOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 1000) return count;
  throw new GatewayError("invalid_request_error", `${name} must be a whole number from 1 to 1000.`, {
    param: name,
  });
}

/** What is said of the intervals that a time can be divided into. */
export const INTERVALS_SAID = "Days are those of UTC; weeks begin with its Mondays";

/** Until when times can be written with four digits of the year. */
const MAX_SEC = 253_402_300_799;

/** The queries by which a list is narrowed to a part of time; `when` says which time of a row counts. */
export function rangeQuery(when: string): Readonly<Record<"from" | "to", TSchema>> {
  return {
    from: Type.Number({ description: `${when} then or later; Unix time in seconds` }),
    to: Type.Number({ description: `${when} before then` }),
  };
}

/** The part of time that a list request asks for. */
export function rangeOf(query: URLSearchParams): TimeRange {
  const fromMs = timeOf(query, "from");
  const toMs = timeOf(query, "to");
  return { ...(fromMs === undefined ? {} : { fromMs }), ...(toMs === undefined ? {} : { toMs }) };
}

/** A time of the query in milliseconds. */
function timeOf(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  const seconds = /^\d{1,12}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
  if (seconds <= MAX_SEC) return Math.round(seconds * 1000);
  throw new GatewayError("invalid_request_error", `${name} must be a Unix time in seconds.`, { param: name });
}

/** The filters of `names` that a query has. */
export function textsOf<Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): { [Given in Name]?: string } {
  const filter: { [Given in Name]?: string } = {};
  for (const name of names) {
    const value = query.get(name);
    if (value !== null) filter[name] = value;
  }
  return filter;
}

/** One of the words that a query may have there; throws a 400 that tells them for any other. */
export function wordOf<Word extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  const word = words.find((one) => one === value);
  if (word !== undefined) return word;
  throw new GatewayError("invalid_request_error", `${name} must be one of ${words.join(", ")}.`, {
    param: name,
  });
}

/** The words that a query lists there, with commas between them; throws a 400 that tells which there are for any other. */
export function wordsOf<Word extends string>(
  query: URLSearchParams,
  name: string,
  words: readonly Word[],
): readonly Word[] | undefined {
  const given = query.get(name)?.split(",");
  const listed = given?.flatMap((text) => words.find((word) => word === text) ?? []);
  if (listed?.length === given?.length) return listed;
  const message = `${name} must be a list, with commas between them, of ${words.join(", ")}.`;
  throw new GatewayError("invalid_request_error", message, { param: name });
}

/** What a query says there; throws a 400 for anything but true and false. */
export function flagOf(query: URLSearchParams, name: string, absent: boolean): boolean {
  const text = query.get(name) ?? String(absent);
  if (text === "true" || text === "false") return text === "true";
  throw new GatewayError("invalid_request_error", `${name} must be true or false.`, { param: name });
}
