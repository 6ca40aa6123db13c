import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/caller.ts";
import type { EdgeServices, Route } from "../route.ts";

/**
 * The one place that looks at credentials. Every way to pass a key is read; two that differ are refused, so that no
 * check can be passed by one key and evaded by the other. All failures answer alike.
 */
export async function authenticate(
  services: EdgeServices,
  access: Route["access"],
  headers: Headers,
): Promise<Caller | undefined> {
  if (access === "public") return undefined;
  const credential = readCredential(headers);
  if (access === "admin") {
    if (credential === undefined || !services.isAdminToken(credential)) throw unauthorized();
    return undefined;
  }
  const caller = credential === undefined ? undefined : await asked(services, credential);
  if (caller === undefined) throw unauthorized();
  return caller;
}

/** A store that cannot be asked is our fault, never a wrong key. */
async function asked(services: EdgeServices, key: string): Promise<Caller | undefined> {
  try {
    return await services.authenticate(key);
  } catch (cause) {
    throw new GatewayError("overloaded_error", "The key cannot be checked now. Try again shortly.", {
      cause,
      retryAfterSec: 1,
    });
  }
}

const BEARER = /^bearer +(\S+)$/i;

function readCredential(headers: Headers): string | undefined {
  const authorization = headers.get("authorization");
  const bearer = authorization === null ? null : (BEARER.exec(authorization.trim())?.[1] ?? "");
  const given = [bearer, headers.get("x-api-key"), headers.get("x-goog-api-key")].filter(
    (text) => text !== null,
  );
  const [first] = given;
  return first !== undefined && first !== "" && given.every((text) => text === first) ? first : undefined;
}

function unauthorized(): GatewayError {
  return new GatewayError("auth_error", "The API key is missing or not valid.", {
    headers: { "www-authenticate": "Bearer" },
  });
}
