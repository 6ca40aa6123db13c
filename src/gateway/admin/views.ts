import { GatewayError, quoted } from "../../core/errors.ts";

/** A time as the admin interface shows it. */
export function toSeconds(ms: bigint): number {
  return Math.floor(Number(ms) / 1000);
}

/** The 404 for an unknown id. */
export function notFound(what: "account" | "key" | "request" | "task", id: string): GatewayError {
  return new GatewayError("not_found_error", `There is no ${what} ${quoted(id)}.`);
}

/** The 409 for what only an open account can have. */
export function closedAccount(): GatewayError {
  return new GatewayError("conflict_error", "The account is closed: it takes no credit and no key.");
}
