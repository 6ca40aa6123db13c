import type { KeyFault } from "../core/caller.ts";
import { GatewayError } from "../core/errors.ts";
import { isKeyText } from "../keys/key-text.ts";

/** A 401. Its message says what kind of credential was shown and what to do, without the credential. */
export function authError(code: string, message: string): GatewayError {
  return new GatewayError("auth_error", message, { code, headers: { "www-authenticate": "Bearer" } });
}

const ASK = "Ask the operator of this gateway for a new one.";

/** `ended`: the key was live when the request came, and no longer when its credit was to be held. */
const WORDS: Readonly<Record<KeyFault | "ended", readonly [code: string, message: string]>> = {
  malformed: [
    "api_key_malformed",
    "This is no API key by its form: a key is sk- and 49 letters and digits. Copy it whole; a provider's own key opens nothing here.",
  ],
  unknown: [
    "api_key_unknown",
    "This gateway has no such API key. Check the address, or ask the operator of this gateway for a key.",
  ],
  revoked: ["api_key_revoked", `This API key was revoked. ${ASK}`],
  expired: ["api_key_expired", `This API key has expired. ${ASK}`],
  account_inactive: [
    "account_inactive",
    "The account of this API key is not active. Ask the operator of this gateway.",
  ],
  ended: ["api_key_ended", `This API key was revoked or expired while the request was on its way. ${ASK}`],
};

/** The 401 for an API key that is not live. */
export function keyFaultError(fault: KeyFault | "ended"): GatewayError {
  return authError(...WORDS[fault]);
}

/** The 401 for the admin token in place of an API key. */
export function adminTokenGiven(): GatewayError {
  return authError(
    "admin_token_given",
    "This is the admin token, which opens /admin/v1 and /metrics alone. Send an API key: POST /admin/v1/keys makes one.",
  );
}

/** The 401 for anything but the admin token. An API key is recognised by its form, without asking the store. */
export function notAdminToken(shown: string): GatewayError {
  const whence = "The first start printed it, or SWITCHYARD_ADMIN_TOKEN sets it.";
  return isKeyText(shown)
    ? authError("api_key_given", `This is an API key, and this path takes the admin token. ${whence}`)
    : authError("admin_token_unknown", `This is not the admin token of this gateway. ${whence}`);
}
