import type { Caller, KeyFault } from "../../core/caller.ts";
import { GatewayError } from "../../core/errors.ts";
import { adminTokenGiven, keyFaultError, notAdminToken } from "../../gateway/auth-error.ts";
import type { EdgeServices, Route } from "../route.ts";
import type { SessionAccess } from "./authenticate-session.ts";
import { readCredential } from "./credential.ts";

/**
 * The one place that checks keys and the admin token. Throws a 401, or rejects with it, that says what is wrong. A key costs the same
 * work whether it is unknown, revoked or expired.
 */
export function authenticate(
  services: EdgeServices,
  access: Exclude<Route["access"], SessionAccess>,
  request: Request,
): Caller | undefined | Promise<Caller> {
  if (access === "public") return undefined;
  const credential = readCredential(request, access);
  if (access === "admin") {
    if (!services.isAdminToken(credential)) throw notAdminToken(credential);
    return undefined;
  }
  const found = services.authenticate(credential);
  // A key that was seen a moment ago is known at once.
  return found instanceof Promise
    ? asked(services, credential, found)
    : callerOf(services, credential, found);
}

/** A store that is away is our fault, never a wrong key. */
async function asked(
  services: EdgeServices,
  credential: string,
  answer: Promise<Caller | KeyFault>,
): Promise<Caller> {
  const found = await answer.catch((cause: unknown) => {
    throw new GatewayError("overloaded_error", "The key cannot be checked now. Try again shortly.", {
      cause,
      retryAfterSec: 1,
    });
  });
  return callerOf(services, credential, found);
}

function callerOf(services: EdgeServices, credential: string, found: Caller | KeyFault): Caller {
  if (typeof found !== "string") return found;
  throw services.isAdminToken(credential) ? adminTokenGiven() : keyFaultError(found);
}
