import type { Caller, KeyFault } from "../../core/caller.ts";
import { GatewayError } from "../../core/errors.ts";
import { adminTokenGiven, keyFaultError, notAdminToken } from "../../gateway/auth-error.ts";
import type { EdgeServices, Route } from "../route.ts";
import { readCredential } from "./credential.ts";

/**
 * The one place that checks credentials. Throws a 401 that says what is wrong. A key costs the same work whether it is
 * unknown, revoked or expired.
 */
export async function authenticate(
  services: EdgeServices,
  access: Route["access"],
  request: Request,
): Promise<Caller | undefined> {
  if (access === "public") return undefined;
  const credential = readCredential(request, access);
  if (access === "admin") {
    if (!services.isAdminToken(credential)) throw notAdminToken(credential);
    return undefined;
  }
  const caller = await asked(services, credential);
  if (typeof caller !== "string") return caller;
  throw services.isAdminToken(credential) ? adminTokenGiven() : keyFaultError(caller);
}

/** A store that is away is our fault, never a wrong key. */
async function asked(services: EdgeServices, key: string): Promise<Caller | KeyFault> {
  try {
    return await services.authenticate(key);
  } catch (cause) {
    throw new GatewayError("overloaded_error", "The key cannot be checked now. Try again shortly.", {
      cause,
      retryAfterSec: 1,
    });
  }
}
