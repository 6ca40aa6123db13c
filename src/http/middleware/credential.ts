import type { GatewayError } from "../../core/errors.ts";
import { authError } from "../../gateway/auth-error.ts";

/** The headers that a credential is read from. */
const READ = ["authorization", "x-api-key", "x-goog-api-key"] as const;

/** Headers in which clients of other services put a key. They are not read, and the 401 says so. */
const UNREAD_HEADERS = [
  "api-key",
  "apikey",
  "x-auth-token",
  "x-access-token",
  "x-api-token",
  "proxy-authorization",
] as const;
const UNREAD_QUERY = ["key", "api_key", "api-key", "apikey", "access_token", "token"] as const;

/** The credential of a route, for codes and sentences. */
const WANTED = {
  key: {
    code: "api_key",
    noun: "API key",
    send: "Send it as Authorization: Bearer <key>, x-api-key or x-goog-api-key.",
  },
  admin: { code: "admin_token", noun: "admin token", send: "Send it as Authorization: Bearer <token>." },
} as const;
type Wanted = (typeof WANTED)[keyof typeof WANTED];

/**
 * The credential of a request. Every way to pass one is read. Two that differ are refused, so that a request cannot
 * pass a check by one key and evade it by the other. Throws a 401 that says why there is none, without what was sent.
 */
export function readCredential(request: Request, access: keyof typeof WANTED): string {
  const { headers } = request;
  return onlyBearer(headers) ?? readAny(request, WANTED[access]);
}

/** The token of a request that has one as nearly all do: a Bearer, and no other header for one. */
function onlyBearer(headers: Headers): string | undefined {
  const text = headers.get("authorization");
  if (text === null || headers.has("x-api-key") || headers.has("x-goog-api-key")) return undefined;
  return text.includes(", ") ? undefined : BEARER.exec(text.trim())?.[1];
}

function readAny(request: Request, wanted: Wanted): string {
  const { headers } = request;
  const given = READ.filter((name) => headers.has(name));
  const [first, ...others] = given;
  if (first === undefined) throw unread(request, wanted) ?? missing(wanted);
  const joined = given.find((name) => headers.get(name)?.includes(", "));
  if (joined !== undefined)
    throw ambiguous(`The header ${joined} stands more than once. Send it once.`, wanted);
  const blank = given.find((name) => textIn(name, headers) === "");
  if (blank !== undefined) throw empty(blank, headers, wanted);
  const text = textIn(first, headers);
  const other = others.find((name) => textIn(name, headers) !== text);
  if (other !== undefined) {
    const words = `The headers ${first} and ${other} hold different keys. Send one of them.`;
    throw ambiguous(words, wanted);
  }
  return text;
}

const BEARER = /^bearer(?: +(\S+))?$/i;

/** The credential in a header; empty where it has none. */
function textIn(name: (typeof READ)[number], headers: Headers): string {
  const text = headers.get(name) ?? "";
  return name === "authorization" ? (BEARER.exec(text.trim())?.[1] ?? "") : text;
}

function missing({ code, noun, send }: Wanted): GatewayError {
  return authError(`${code}_missing`, `This request has no ${noun}. ${send}`);
}

function empty(name: (typeof READ)[number], headers: Headers, wanted: Wanted): GatewayError {
  const { code, noun, send } = wanted;
  if (name === "authorization" && !/^bearer$/i.test(headers.get(name)?.trim() ?? ""))
    return authError(`${code}_misplaced`, `Of Authorization only a Bearer with one word is read. ${send}`);
  return authError(
    `${code}_missing`,
    `The header ${name} has no ${noun} in it: is the variable that holds it set? ${send}`,
  );
}

/** The 401 of a request whose credential is in a place that is not read. */
function unread({ url, headers }: Request, { code, noun, send }: Wanted): GatewayError | undefined {
  const header = UNREAD_HEADERS.find((name) => headers.has(name));
  const { searchParams } = new URL(url);
  const query = UNREAD_QUERY.find((name) => searchParams.has(name));
  if (header === undefined && query === undefined) return undefined;
  const place = header === undefined ? `query (${query})` : `header ${header}`;
  return authError(`${code}_misplaced`, `No ${noun} is read from the ${place}. ${send}`);
}

function ambiguous(message: string, { code }: Wanted): GatewayError {
  return authError(`${code}_ambiguous`, message);
}
