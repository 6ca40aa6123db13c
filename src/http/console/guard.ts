import { GatewayError } from "../../core/errors.ts";
import { isSameText } from "../../runtime/hash.ts";
import type { Session } from "../../gateway/console/sessions.ts";

/** The cookie of a session. */
export const COOKIE = "switchyard_console";

/** The header that a call which changes something shows the session's `csrf` in. */
export const CSRF_HEADER = "x-csrf-token";

/** The header of a page's calls while its reader is away. A false one can only end a session early. */
export const UNATTENDED_HEADER = "x-unattended";

/** Whether a call counts as a use of its session. */
export function isUse({ headers }: Request): boolean {
  return !headers.has(UNATTENDED_HEADER);
}

/** The cookie's text; of two the browser's own comes first (RFC 6265, 5.4). */
export function tokenIn({ headers }: Request): string | undefined {
  const pairs = (headers.get("cookie") ?? "").split(";").map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
}

/** Whether a request may change something. */
export function mayChange({ method }: Request): boolean {
  return method !== "GET" && method !== "HEAD";
}

/**
 * Throws a 403 unless the request comes from a page of this gateway: by its Host, or by PUBLIC_URL where a proxy changes
 * that. Where PUBLIC_URL is https the page must be, too: the cookie would not come back to another.
 */
export function checkOrigin({ headers }: Request, publicUrl: string): void {
  const [own, page] = [new URL(publicUrl), URL.parse(headers.get("origin") ?? "")];
  const isOurs =
    page !== null &&
    (page.host === own.host || page.host === headers.get("host")?.toLowerCase()) &&
    (page.protocol === "https:" || (page.protocol === "http:" && own.protocol === "http:"));
  if (isOurs) return;
  throw refusal(
    "origin_refused",
    `Only pages of this gateway may ask for this: open ${own.origin}/console/.`,
  );
}

/** Throws a 403 unless the request shows what only a page of this gateway can have read. */
export function checkCsrf({ headers }: Request, { csrf }: Session): void {
  if (isSameText(headers.get(CSRF_HEADER) ?? "", csrf)) return;
  throw refusal("csrf_refused", `The header ${CSRF_HEADER} is not that of this session: reload the page.`);
}

function refusal(code: string, message: string): GatewayError {
  return new GatewayError("permission_error", message, { code });
}

/** The header that gives a browser the session's cookie; without a token it takes the cookie away. */
export function cookieHeader(token: string | undefined, lifetimeMs: number, publicUrl: string): string {
  const secure = publicUrl.startsWith("https:") ? "; Secure" : "";
  const [value, age] = token === undefined ? ["", 0] : [token, lifetimeMs / 1000];
  return `${COOKIE}=${value}; Path=/console/api; Max-Age=${age}; HttpOnly; SameSite=Strict${secure}`;
}
