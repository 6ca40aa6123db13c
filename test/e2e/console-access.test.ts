import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { systemRandom } from "../../src/core/random.ts";
import { CONSOLE } from "../../src/http/console/table.ts";
import type { Route } from "../../src/http/route.ts";
import { ROUTED, ROUTES } from "../../src/http/routes.ts";
import { newKeyText } from "../../src/keys/key-text.ts";
import { type ConsoleClient, postSession, signIn } from "../gateway/console-client.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { ADMIN_TOKEN, type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

// What a session of the console opens, and from where (catalogue, S29, S31, S32): walks over every route of the table.

const CHAT = {
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 9,
};

let double: UpstreamDouble;
let clock: FakeClock;
let gateway: TestGateway;
let operator: ConsoleClient;
let developer: ConsoleClient;
/** Another key of the same account, and a key of another account. Each has made a request. */
let others: readonly { readonly id: string; readonly key: string; readonly account_id: string }[];

beforeAll(async () => {
  double = await startUpstreamDouble();
  double.handle(() => chatAnswer({ words: ["Hello."] }));
  clock = createFakeClock();
  gateway = await startGateway({ openai: `${double.url}/v1`, clock });
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "other" });
  await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 1_000, reason: "test" });
  const keys = await Promise.all(
    [gateway.accountId, account.id].map(async (id) => {
      const { json } = await gateway.admin("POST", "/keys", { account_id: id, name: "other" });
      return json;
    }),
  );
  others = keys;
  for (const key of [gateway.key, ...keys.map((row) => row.key)]) {
    const response = await gateway.chat(CHAT, { headers: { authorization: `Bearer ${key}` } });
    expect(response.status).toBe(200);
  }
  await gateway.settled();
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(async () => {
  operator = await signIn(gateway, ADMIN_TOKEN);
  developer = await signIn(gateway, gateway.key);
});

/** A path of the route, with an id for each parameter. */
const pathOf = ({ path }: Route, id = "x"): string => path.replace(/\/:\w+(\{[^}]*\})?/g, `/${id}`);
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;
const changes = ({ method }: Route): boolean => method !== "get";
const ofSessions = ROUTED.filter(({ access }) => ["session", "operator", "play"].includes(access));

/** The path below /console/api. */
const below = (path: string): string => path.slice(CONSOLE.length);

describe("no route for keys or the admin token takes the cookie", () => {
  for (const route of ROUTES.filter(({ access }) => access === "key" || access === "admin"))
    test(nameOf(route), async () => {
      for (const { cookie, session } of [operator, developer]) {
        const response = await fetch(`${gateway.url}${pathOf(route)}`, {
          method: route.method.toUpperCase(),
          headers: { cookie, origin: gateway.url, "x-csrf-token": session.csrf },
        });
        expect(response.status).toBe(401);
      }
    });
});

test("no spelling of an address leads a key into the console", async () => {
  for (const path of ["/v1/console/api/requests", "/api/v1/console/api/keys", "/Console/api/keys"])
    for (const credential of [gateway.key, ADMIN_TOKEN]) {
      const headers = { authorization: `Bearer ${credential}`, cookie: operator.cookie };
      expect([path, (await fetch(`${gateway.url}${path}`, { headers })).status]).toEqual([path, 404]);
    }
});

describe("no route for sessions takes a key or the admin token", () => {
  for (const route of ofSessions)
    test(nameOf(route), async () => {
      for (const credential of [gateway.key, ADMIN_TOKEN])
        for (const name of ["authorization", "x-api-key", "x-goog-api-key"]) {
          const value = name === "authorization" ? `Bearer ${credential}` : credential;
          const response = await fetch(`${gateway.url}${pathOf(route)}`, {
            method: route.method.toUpperCase(),
            headers: { [name]: value, origin: gateway.url },
          });
          expect(response.status).toBe(401);
        }
    });
});

describe("a call that may change something needs the session's token and a page of the gateway", () => {
  const odd: readonly (readonly [string, Readonly<Record<string, string | undefined>>])[] = [
    ["no token", { "x-csrf-token": undefined }],
    ["an empty token", { "x-csrf-token": "" }],
    ["another session's token", { "x-csrf-token": "theirs" }],
    ["no origin", { origin: undefined }],
    ["an opaque origin", { origin: "null" }],
    ["a foreign origin", { origin: "https://evil.example" }],
    ["an origin that begins like ours", { origin: "http://127.0.0.1.evil.example" }],
    ["our host in another scheme", { origin: "ftp://127.0.0.1" }],
    [
      "a form post",
      { "content-type": "text/plain", "x-csrf-token": undefined, origin: "https://evil.example" },
    ],
  ];
  for (const route of ofSessions.filter(changes))
    test(nameOf(route), async () => {
      for (const client of [operator, developer])
        for (const [name, given] of odd) {
          const theirs = client === operator ? developer : operator;
          const headers = {
            ...given,
            ...(given["x-csrf-token"] === "theirs" ? { "x-csrf-token": theirs.session.csrf } : {}),
          };
          const response = await client.send(route.method.toUpperCase(), below(pathOf(route)), {
            body: {},
            headers,
          });
          expect([name, response.status]).toEqual([name, 403]);
        }
      // Nothing of that ended a session.
      for (const { send } of [operator, developer]) expect((await send("GET", "/session")).status).toBe(200);
    });

  test("the sign-in, whose page has no token yet, needs the origin", async () => {
    for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, { origin: "" }]) {
      const response = await postSession(gateway, ADMIN_TOKEN, headers);
      expect([headers, response.status, response.headers.get("set-cookie")]).toEqual([headers, 403, null]);
    }
  });

  test("a GET changes nothing: it has another answer, or none", async () => {
    for (const route of ofSessions.filter(changes)) {
      const isRead = ofSessions.some(({ method, path }) => method === "get" && path === route.path);
      const { status } = await operator.send("GET", below(pathOf(route)));
      if (!isRead) expect([nameOf(route), status]).toEqual([nameOf(route), 405]);
    }
  });
});

test("no answer lets a page of another origin read it, or send credentials", async () => {
  for (const path of ["/api/v1/models", "/admin/v1/keys", "/console/api/session", "/console/api/keys", "/"])
    for (const method of ["GET", "OPTIONS", "POST"]) {
      const headers = {
        origin: "https://evil.example",
        cookie: operator.cookie,
        authorization: `Bearer ${gateway.key}`,
      };
      const response = await fetch(`${gateway.url}${path}`, { method, headers });
      const named = [...response.headers.keys()].filter((name) => name.startsWith("access-control-"));
      expect([path, method, named]).toEqual([path, method, []]);
    }
});

describe("a developer's session", () => {
  const READS = `post ${CONSOLE}/reads`;
  const OWN = new Set(
    ["/session", "/models", "/models/:model{.+}", "/requests", "/requests/:id", "/usage", "/keys/:id"]
      .concat(["/accounts/:id/ledger", "/tasks", "/tasks/:id", "/prices"])
      .map((path) => `get ${CONSOLE}${path}`)
      .concat(`delete ${CONSOLE}/session`),
  );

  // `console-reads.test.ts` shows that reads which go together are answered as each of them is.
  const walked = ofSessions.filter((route) => route.access !== "play" && nameOf(route) !== READS);
  for (const route of walked)
    if (OWN.has(nameOf(route)))
      test(`${nameOf(route)}: nothing of another key`, async () => {
        const ids = others.flatMap(({ id, account_id }) => [id, account_id]);
        if (route.path.includes(":id")) {
          const theirs = await rowsOf(route);
          for (const id of [...ids.filter((one) => one !== gateway.accountId), ...theirs]) {
            const response = await developer.send("GET", below(pathOf(route, id)));
            expect([id, response.status]).toEqual([id, 404]);
          }
        }
        const { status, json } = await developer.ask(
          route.method.toUpperCase(),
          below(pathOf(route, route.path.includes("/accounts/") ? gateway.accountId : gateway.keyId)),
        );
        expect([200, 404]).toContain(status);
        for (const id of ids.filter((one) => one !== gateway.accountId))
          expect(JSON.stringify(json)).not.toContain(id);
      });
    else
      test(`${nameOf(route)}: 403`, async () => {
        const { status, json } = await developer.ask(
          route.method.toUpperCase(),
          below(pathOf(route)),
          changes(route) ? {} : undefined,
        );
        expect([status, json.error.code]).toEqual([403, "operator_only"]);
      });

  /** Ids of rows of others that such a path could name. */
  async function rowsOf({ path }: Route): Promise<readonly string[]> {
    const list = ["/requests", "/tasks"].find((each) => path === `${CONSOLE}${each}/:id`);
    if (list === undefined) return [];
    const { json } = await operator.ask("GET", list);
    return json.data.filter((row: Json) => row.key_id !== gateway.keyId).map((row: Json) => row.id);
  }

  test("lists its key's requests and ledger alone, without what the operator owes for them", async () => {
    const all = (await operator.ask("GET", "/requests")).json.data;
    expect(all.length).toBe(3);
    const { json } = await developer.ask("GET", "/requests");
    expect(json.data.map((row: Json) => [row.key_id, row.cost])).toEqual([[gateway.keyId, null]]);
    const one = (await developer.ask("GET", `/requests/${json.data[0].id}`)).json;
    for (const { attempts } of [json.data[0], one])
      expect(attempts.map((attempt: Json) => attempt.upstream_id)).toEqual([null]);
    const mistyped = await developer.ask("GET", "/requests?provider=opnai");
    expect([mistyped.status, mistyped.json.error.param]).toEqual([400, "provider"]);
    expect(mistyped.json.error.message).not.toContain("openai");
    const ledger = await developer.ask("GET", `/accounts/${gateway.accountId}/ledger`);
    expect(ledger.json.data.map((row: Json) => row.request_id)).toEqual([json.data[0].id]);
    const whole = await operator.ask("GET", `/accounts/${gateway.accountId}/ledger`);
    expect(whole.json.data.length).toBe(3);
  });

  test("reads what its key may still spend and no other figure of the account", async () => {
    const { balance } = (await gateway.admin("GET", `/accounts/${gateway.accountId}`)).json;
    const own = async (): Promise<Json> => (await developer.ask("GET", `/keys/${gateway.keyId}`)).json;
    expect((await own()).available).toEqual({ amount: balance, bound: "balance" });
    await gateway.admin("PATCH", `/keys/${gateway.keyId}`, { budget: 7 });
    const key = await own();
    expect(key.available).toEqual({ amount: expect.closeTo(7 - key.spent, 6), bound: "budget" });
    expect(JSON.stringify(key)).not.toContain(String(balance));
    await gateway.admin("PATCH", `/keys/${gateway.keyId}`, { budget: null });
    for (const path of [`/accounts/${gateway.accountId}`, "/accounts", "/keys"])
      expect([path, (await developer.ask("GET", path)).status]).toEqual([path, 403]);
    expect((await developer.ask("GET", `/keys/${others[0]?.id}`)).status).toBe(404);
    const ledger = (await developer.ask("GET", `/accounts/${gateway.accountId}/ledger`)).json.data;
    const [{ id }] = (await developer.ask("GET", "/requests")).json.data;
    const entries = [...ledger, ...(await developer.ask("GET", `/requests/${id}`)).json.ledger];
    expect(entries.length).toBeGreaterThan(1);
    for (const entry of entries) expect(entry.balance_after).toBeNull();
  });

  test("counts its key's usage alone, by whatever it is grouped, without what the operator owes", async () => {
    for (const interval of ["hour", "day", "all"])
      for (const by of ["model", "key", "account", "provider", "route", "outcome", "none"]) {
        const path = `/usage?interval=${interval}&group_by=${by}`;
        const [whole, own] = [await operator.ask("GET", path), await developer.ask("GET", path)];
        const counts = (json: Json): number =>
          json.data.reduce((sum: number, row: Json) => sum + row.requests, 0);
        expect([path, counts(whole.json), counts(own.json)]).toEqual([path, 3, 1]);
        expect(own.json.data.map((row: Json) => [row.cost, row.credit_with_cost])).toEqual([[0, 0]]);
        if (by === "key") expect(own.json.data[0].group).toBe(gateway.keyId);
      }
  });

  test("may not filter by another key or account", async () => {
    for (const list of ["/requests", "/tasks", "/usage"])
      for (const { id, account_id } of others) {
        const { status, json } = await developer.ask("GET", `${list}?key_id=${id}`);
        expect([status, json.error.param]).toEqual([400, "key_id"]);
        if (account_id !== gateway.accountId)
          expect((await developer.ask("GET", `${list}?account_id=${account_id}`)).status).toBe(400);
      }
    const own = await developer.ask(
      "GET",
      `/requests?key_id=${gateway.keyId}&account_id=${gateway.accountId}`,
    );
    expect([own.status, own.json.data.length]).toEqual([200, 1]);
  });

  test("sees the models that its key may use, and an operator's all", async () => {
    const [, other] = others;
    await gateway.admin("PATCH", `/keys/${other?.id}`, { models: [CHAT.model] });
    const bounded = await signIn(gateway, other?.key ?? "");
    const ids = async ({ ask }: ConsoleClient) =>
      (await ask("GET", "/models")).json.data.map((row: Json) => row.id);
    expect(await ids(bounded)).toEqual([CHAT.model]);
    expect((await ids(operator)).length).toBeGreaterThan(5);
    expect((await operator.ask("GET", "/models/openai/gpt-5.6-luna")).json.id).toBe(CHAT.model);
    expect((await bounded.ask("GET", "/models/openai%2Fgpt-5.6-sol")).status).toBe(404);
  });
});

describe("an operator's session", () => {
  test("gets from every route of the admin interface what the admin token gets there", async () => {
    const mirrored = ROUTES.filter(({ access, path }) => access === "admin" && path.startsWith("/admin/v1/"));
    expect(mirrored.length).toBeGreaterThan(10);
    for (const route of mirrored) {
      const path = pathOf(route).slice("/admin/v1".length);
      const body = changes(route) ? {} : undefined;
      // The first of two audits leaves the second nothing to look at.
      if (path === "/audit") await gateway.admin("GET", path);
      const [one, other] = [
        await operator.ask(route.method.toUpperCase(), path, body),
        await gateway.admin(route.method.toUpperCase(), path, body),
      ];
      expect([nameOf(route), one.status]).toEqual([nameOf(route), other.status]);
      if (one.status === 200) expect(one.json).toEqual(other.json);
      else expect(one.json.error.message).toBe(other.json.error.message);
    }
  });

  test("makes an account, gives it credit and issues a key", async () => {
    const { status, json: account } = await operator.ask("POST", "/accounts", { name: "made" });
    expect(status).toBe(201);
    const credits = { amount: 5, reason: "x" };
    expect((await operator.ask("POST", `/accounts/${account.id}/credits`, credits)).json).toEqual({
      balance: 5,
    });
    const key = await operator.ask("POST", "/keys", { account_id: account.id, name: "k" });
    expect(key.json.key).toStartWith("sk-");
    expect((await operator.ask("DELETE", `/keys/${key.json.id}`)).json.revoked).toBe(true);
  });

  test("has an unknown filter refused, as the admin token has", async () => {
    expect((await operator.ask("GET", "/keys?nonsense=1")).status).toBe(400);
  });
});

test("answers to a session are stored by no cache, and differ by the cookie", async () => {
  for (const path of ["/session", "/keys", "/nowhere", "/models"]) {
    const { headers, status } = await operator.send("GET", path);
    expect([path, headers.get("cache-control")]).toEqual([path, "no-store"]);
    if (status === 200) expect([path, headers.get("vary")]).toEqual([path, "cookie"]);
  }
});

describe("wrong tries", () => {
  /** Of an address of its own. */
  const tryFrom = (address: string, credential: string) =>
    postSession(gateway, credential, { "x-forwarded-for": address });

  test("from the twenty-first on an address is told to wait, and the right credential still passes", async () => {
    const codes: unknown[] = [];
    for (let i = 0; i < 20; i += 1) codes.push((await tryFrom("", `adm-${i}`)).status);
    expect(codes).toEqual(Array.from({ length: 20 }, () => 401));
    const refused = await tryFrom("", "adm-20");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "600"]);
    expect(((await refused.json()) as Json).error.message).toContain("Wait");
    expect((await tryFrom("", gateway.key.replace(/.$/, "!"))).status).toBe(429);
    for (const right of [ADMIN_TOKEN, gateway.key]) expect((await tryFrom("", right)).status).toBe(200);
    await clock.advance(600_000);
    expect((await tryFrom("", "adm-21")).status).toBe(401);
  });

  test("are those of the connection, whatever X-Forwarded-For says", async () => {
    await clock.advance(600_000);
    for (let i = 0; i < 20; i += 1) expect((await tryFrom(`198.51.100.${i}`, `adm-${i}`)).status).toBe(401);
    expect((await tryFrom("198.51.100.99", "adm-20")).status).toBe(429);
  });

  test("behind a trusted proxy are each client's own, and nobody locks the others out", async () => {
    const proxied = await startGateway({ environment: { TRUSTED_PROXIES: "127.0.0.1" } });
    const from = async (forwarded: string) =>
      (await postSession(proxied, "adm-wrong", { "x-forwarded-for": forwarded })).status;
    // A client may write what it likes before the address that the proxy adds.
    for (let i = 0; i < 20; i += 1) expect(await from(`203.0.113.${i}, 198.51.100.1`)).toBe(401);
    expect([await from("203.0.113.99, 198.51.100.1"), await from("198.51.100.2")]).toEqual([429, 401]);
    await proxied.close();
  });

  test("each is told what is wrong, without the credential", async () => {
    await clock.advance(600_000);
    const unknown = newKeyText(systemRandom);
    for (const [credential, code] of [
      ["adm-wrong", "credential_unknown"],
      ["x", "credential_unknown"],
      [unknown, "api_key_unknown"],
    ] as const) {
      const response = await postSession(gateway, credential);
      const text = await response.text();
      expect([
        response.status,
        JSON.parse(text).error.code,
        text.includes(credential) && credential !== "x",
      ]).toEqual([401, code, false]);
    }
  });

  test("what is no sign-in is refused before it is read", async () => {
    expect((await postSession(gateway, "x".repeat(5_000))).status).toBe(400);
    expect((await postSession(gateway, "x".repeat(600))).status).toBe(400);
    expect((await postSession(gateway, "")).status).toBe(400);
    const form = await fetch(`${gateway.url}/console/api/session`, {
      method: "POST",
      headers: { origin: gateway.url, "content-type": "text/plain" },
      body: JSON.stringify({ credential: ADMIN_TOKEN }),
    });
    expect([form.status, form.headers.get("set-cookie")]).toEqual([400, null]);
  });
});
