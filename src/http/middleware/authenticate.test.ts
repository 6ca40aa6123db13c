import { expect, test } from "bun:test";
import type { GatewayError } from "../../core/errors.ts";
import type { EdgeServices } from "../route.ts";
import { authenticate } from "./authenticate.ts";

const CALLER = { keyId: "key_1", accountId: "acc_1", models: null };

/** Services that know one key, and the admin token. */
function servicesWith(known: EdgeServices["authenticate"]): EdgeServices {
  return { authenticate: known, isAdminToken: (text: string) => text === "admin" } as unknown as EdgeServices;
}

const request = (text?: string): Request =>
  new Request("http://gateway/", text === undefined ? {} : { headers: { authorization: `Bearer ${text}` } });

async function refusalOf(admit: () => unknown): Promise<GatewayError> {
  try {
    await admit();
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error("It was admitted.");
}

test("a public route asks for no credential", () => {
  const services = servicesWith(() => Promise.reject(new Error("asked")));
  expect(authenticate(services, "public", request())).toBeUndefined();
});

test("an admin's route takes the admin token alone", async () => {
  const services = servicesWith(() => CALLER);
  expect(authenticate(services, "admin", request("admin"))).toBeUndefined();
  const refusal = await refusalOf(() => authenticate(services, "admin", request("key")));
  expect([refusal.kind, refusal.code]).toEqual(["auth_error", "admin_token_unknown"]);
});

test("a key that is remembered admits its caller at once, and another once the store has said so", async () => {
  const remembered = servicesWith(() => CALLER);
  expect(authenticate(remembered, "key", request("key"))).toBe(CALLER);
  const stored = servicesWith(async () => CALLER);
  expect(await authenticate(stored, "key", request("key"))).toBe(CALLER);
});

test("a key that is not live is refused with the reason, and the admin token with its own", async () => {
  for (const services of [servicesWith(() => "revoked"), servicesWith(async () => "revoked" as const)]) {
    const refusal = await refusalOf(() => authenticate(services, "key", request("key")));
    expect([refusal.kind, refusal.code]).toEqual(["auth_error", "api_key_revoked"]);
    const admin = await refusalOf(() => authenticate(services, "key", request("admin")));
    expect([admin.kind, admin.message]).toEqual(["auth_error", expect.stringContaining("admin token")]);
  }
});

test("a key that cannot be looked up is not refused as a wrong one, and may be tried again", async () => {
  const cause = new Error("away");
  const services = servicesWith(() => Promise.reject(cause));
  const refusal = await refusalOf(() => authenticate(services, "key", request("key")));
  expect([refusal.kind, refusal.retryAfterSec, refusal.cause]).toEqual(["overloaded_error", 1, cause]);
});
