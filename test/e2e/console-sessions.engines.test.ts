import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { cookieOf, postSession, signIn } from "../gateway/console-client.ts";
import { describeOnEngineOfSuite, type TestPlace } from "../gateway/engines.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { ADMIN_TOKEN, type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";

// Sign-in and sign-out of the console, and when a session ends by itself (catalogue, S30).

const MINUTE_MS = 60_000;

describeOnEngineOfSuite("a session of the console", (engine) => {
  let place: TestPlace;
  let clock: FakeClock;
  let gateway: TestGateway;

  const start = (environment: Readonly<Record<string, string>> = {}) =>
    startGateway({ clock, environment: { ...place.environment, ...environment } });

  beforeAll(async () => {
    place = await engine.newPlace();
    clock = createFakeClock();
    gateway = await start();
  });
  afterAll(async () => {
    await gateway.close();
    await place.remove();
  });

  test("is opened by the admin token, for an operator, and tells what the console needs", async () => {
    const response = await postSession(gateway, ADMIN_TOKEN);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({
      role: "operator",
      csrf: expect.stringMatching(/^[\w-]{43}$/),
      expires_at: clock.nowMs() / 1000 + 12 * 3600,
      account: null,
      key: null,
      version: "0.1.0",
      sandbox: engine.name === "sqlite",
      public_url: gateway.url,
      example_model: "openai/gpt-5.6-luna",
    });
    expect(response.headers.get("set-cookie")).toMatch(
      /^switchyard_console=[0-9a-f]{64}; Path=\/console\/api; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect(response.headers.get("cache-control")).toBe("no-store");
  });

  test("is opened by an API key, for a developer, and tells whose it is", async () => {
    const { session, ask } = await signIn(gateway, gateway.key);
    expect(session).toMatchObject({
      role: "developer",
      account: { id: gateway.accountId, name: "test" },
      key: { id: gateway.keyId, name: "test", hint: expect.stringContaining("…") },
    });
    expect(await ask("GET", "/session")).toEqual({ status: 200, json: session });
  });

  test("ends at a sign-out, for good, and takes its cookie along", async () => {
    const { send } = await signIn(gateway, ADMIN_TOKEN);
    expect((await send("GET", "/accounts")).status).toBe(200);
    const out = await send("DELETE", "/session");
    expect(await out.json()).toEqual({ ended: true });
    expect(out.headers.get("set-cookie")).toBe(
      "switchyard_console=; Path=/console/api; Max-Age=0; HttpOnly; SameSite=Strict",
    );
    const after = await send("GET", "/accounts");
    expect([after.status, ((await after.json()) as Json).error.code]).toEqual([401, "session_ended"]);
  });

  test("is another one at every sign-in: the earlier cookie ends, also where the role changes", async () => {
    const first = await signIn(gateway, ADMIN_TOKEN);
    const again = await postSession(gateway, gateway.key, { cookie: first.cookie });
    expect(again.status).toBe(200);
    expect(cookieOf(again)).not.toBe(first.cookie);
    expect(((await again.json()) as Json).csrf).not.toBe(first.session.csrf);
    expect((await first.send("GET", "/session")).status).toBe(401);
    // A wrong try ends nothing.
    const other = await signIn(gateway, ADMIN_TOKEN);
    expect((await postSession(gateway, "adm-wrong", { cookie: other.cookie })).status).toBe(401);
    expect((await other.send("GET", "/session")).status).toBe(200);
  });

  test("ends 30 minutes after its last use", async () => {
    const { send } = await signIn(gateway, ADMIN_TOKEN);
    const status = async () => (await send("GET", "/session")).status;
    for (const ms of [30_000, 29.9 * MINUTE_MS, 29.9 * MINUTE_MS]) {
      clock.jump(ms);
      expect([ms, await status()]).toEqual([ms, 200]);
    }
    clock.jump(30 * MINUTE_MS);
    expect(await status()).toBe(401);
  });

  test("is not kept alive by the polls of a page whose reader is away", async () => {
    const { send } = await signIn(gateway, ADMIN_TOKEN);
    const poll = async () => (await send("GET", "/accounts", { headers: { "x-unattended": "1" } })).status;
    for (let i = 1; i < 3; i += 1) {
      clock.jump(10 * MINUTE_MS);
      expect([i, await poll()]).toEqual([i, 200]);
    }
    expect((await send("GET", "/accounts")).status).toBe(200);
    clock.jump(29 * MINUTE_MS);
    expect(await poll()).toBe(200);
    clock.jump(MINUTE_MS);
    expect(await poll()).toBe(401);
  });

  test("ends 12 hours after it was opened, however much it is used", async () => {
    const { send } = await signIn(gateway, ADMIN_TOKEN);
    const status = async () => (await send("GET", "/session")).status;
    for (let i = 1; i < 36; i += 1) {
      clock.jump(20 * MINUTE_MS);
      expect([i, await status()]).toEqual([i, 200]);
    }
    clock.jump(20 * MINUTE_MS);
    expect(await status()).toBe(401);
  });

  test("of a key ends when the key is revoked", async () => {
    const { json: key } = await gateway.admin("POST", "/keys", { account_id: gateway.accountId, name: "x" });
    const { send } = await signIn(gateway, key.key);
    expect((await send("GET", "/requests")).status).toBe(200);
    await gateway.admin("DELETE", `/keys/${key.id}`);
    const after = await send("GET", "/requests");
    expect([after.status, ((await after.json()) as Json).error.code]).toEqual([401, "api_key_revoked"]);
    expect((await send("GET", "/requests")).status).toBe(401);
  });

  test("of a key ends when the key expires", async () => {
    const expires_at = Math.ceil(clock.nowMs() / 1000) + 60;
    const body = { account_id: gateway.accountId, name: "x", expires_at };
    const { json: key } = await gateway.admin("POST", "/keys", body);
    const { send } = await signIn(gateway, key.key);
    expect((await send("GET", "/session")).status).toBe(200);
    clock.jump(61_000);
    expect((await send("GET", "/session")).status).toBe(401);
  });

  test("outlives the process, unless the admin token is another then", async () => {
    const [operator, developer] = [
      await signIn(gateway, ADMIN_TOKEN),
      await signIn(gateway, gateway.key),
    ] as const;
    const statuses = async () => {
      const at = async (cookie: string) =>
        (await fetch(`${gateway.url}/console/api/session`, { headers: { cookie } })).status;
      return [await at(operator.cookie), await at(developer.cookie)];
    };
    await gateway.close();
    gateway = await start();
    expect(await statuses()).toEqual([200, 200]);
    await gateway.close();
    gateway = await start({ SWITCHYARD_ADMIN_TOKEN: "adm-another-0123456789abcdef" });
    expect(await statuses()).toEqual([401, 200]);
    // Nor does it come back with the earlier token.
    await gateway.close();
    gateway = await start();
    expect(await statuses()).toEqual([401, 200]);
  });

  test("is nowhere in clear: neither its cookie nor a credential is logged, or in the files of a store", async () => {
    const { cookie } = await signIn(gateway, gateway.key);
    const { session } = await signIn(gateway, ADMIN_TOKEN);
    const kept = [JSON.stringify(gateway.logs)];
    const home = place.environment.SWITCHYARD_HOME;
    const names = home === undefined ? [] : readdirSync(home, { recursive: true, encoding: "latin1" });
    for (const name of names)
      if (statSync(join(home ?? "", name)).isFile())
        kept.push(readFileSync(join(home ?? "", name), "latin1"));
    if (home !== undefined) expect(kept.some((text) => text.includes(gateway.keyId))).toBe(true);
    for (const secret of [cookie.split("=")[1] ?? "", gateway.key, ADMIN_TOKEN, session.csrf as string])
      expect(kept.filter((text) => text.includes(secret))).toEqual([]);
  });
});
