import { describe, expect, test } from "bun:test";
import { createFakeClock } from "../../test/gateway/fake-clock.ts";
import { createCatalog } from "../catalog/catalog.ts";
import { GatewayError } from "../core/errors.ts";
import type { LogFields } from "../core/log/log.ts";
import { createRequestMemory } from "../core/bytes/request-memory.ts";
import { systemRandom } from "../core/random.ts";
import { newKeyText } from "../keys/key-text.ts";
import { createApp } from "./app.ts";
import type { EdgeServices } from "./route.ts";
import { ROUTES } from "./routes.ts";

const KEY = newKeyText(systemRandom);
/** Keys of the right form that open nothing, by why. */
const DEAD = {
  unknown: newKeyText(systemRandom),
  revoked: newKeyText(systemRandom),
  expired: newKeyText(systemRandom),
  account_inactive: newKeyText(systemRandom),
};
const ADMIN = "adm-0123456789abcdef";
const CALLER = { keyId: "key_1", accountId: "acct_1", models: null };

const CONNECTION = {
  keepOpen: () => {},
  limitIdle: () => {},
  limitStall: () => {},
  hasRoom: () => true,
  address: () => undefined,
};

function open(more: Partial<EdgeServices> = {}) {
  const lines: LogFields[] = [];
  const note = (_: string, fields: LogFields = {}): void => void lines.push(fields);
  const asked: string[] = [];
  const tokens: string[] = [];
  const catalog = createCatalog([]);
  const services = {
    authenticate: async (key: string) => {
      asked.push(key);
      if (key === KEY) return CALLER;
      const [dead] = Object.entries(DEAD).find(([, text]) => text === key) ?? ["malformed"];
      return dead;
    },
    isAdminToken(token: string) {
      tokens.push(token);
      return token === ADMIN;
    },
    openAsset: () => Promise.reject(new GatewayError("permission_error", "No.")),
    ready: async () => {},
    memory: createRequestMemory(() => 1_000),
    publicUrl: () => "http://gateway",
    version: "1",
    relay: { offer: () => ({ catalog, providers: new Map(), mediaProviders: new Map() }) },
    admin: {
      accounts: async () => ({ data: [], next: null }),
      keys: async () => ({ data: [], next: null }),
    },
    ...more,
  } as unknown as EdgeServices;
  const app = createApp({
    routes: ROUTES,
    services,
    clock: createFakeClock(),
    random: systemRandom,
    log: { info: note, warn: note, error: note },
  });
  const send = (path: string, init: RequestInit = {}): Promise<Response> =>
    app(new Request(`http://gateway${path}`, init), CONNECTION);
  return { send, app, lines, asked, tokens };
}

async function errorOf(
  response: Response,
): Promise<{ readonly type: string; readonly param: string | null; readonly message: string }> {
  return ((await response.json()) as { error: { type: string; param: string | null; message: string } })
    .error;
}

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const samplePath = (path: string): string => path.replace(/\/:\w+(\{[^}]*\})?/g, "/x");

/** The code and words of the message that a credential is told, by what the route asks for. */
type Told = Readonly<Record<"key" | "admin", readonly [code: string, words: string]>>;

/** The same on both kinds of routes; `<noun>` is an API key or an admin token. */
const told = (fault: string, words: string): Told => ({
  key: [`api_key_${fault}`, words.replace("<noun>", "API key")],
  admin: [`admin_token_${fault}`, words.replace("<noun>", "admin token")],
});
/** No key by its form. */
const malformed: Told = {
  key: ["api_key_malformed", "a key is sk- and 49 letters and digits"],
  admin: ["admin_token_unknown", "This is not the admin token"],
};
/** A key by its form. */
const dead = (code: string, words: string): Told => ({
  key: [code, words],
  admin: ["api_key_given", "takes the admin token"],
});

describe("credentials", () => {
  const bad: readonly {
    readonly name: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly query?: string;
    readonly told: Told;
  }[] = [
    { name: "none", headers: {}, told: told("missing", "has no <noun>. Send it as") },
    {
      name: "an empty Bearer",
      headers: { authorization: "Bearer " },
      told: told("missing", "authorization has no <noun>"),
    },
    {
      name: "the scheme alone",
      headers: { authorization: "Bearer" },
      told: told("missing", "authorization has no <noun> in it: is the variable that holds it set?"),
    },
    {
      name: "an empty x-api-key",
      headers: { "x-api-key": "" },
      told: told("missing", "x-api-key has no <noun>"),
    },
    {
      name: "no scheme",
      headers: { authorization: KEY },
      told: told("misplaced", "Send it as Authorization: Bearer"),
    },
    {
      name: "a tab",
      headers: { authorization: `Bearer\t${KEY}` },
      told: told("misplaced", "Send it as Authorization: Bearer"),
    },
    {
      name: "Basic",
      headers: { authorization: `Basic ${btoa(`x:${KEY}`)}` },
      told: told("misplaced", "Of Authorization only a Bearer"),
    },
    {
      name: "SQL",
      headers: { authorization: "Bearer ' OR '1'='1" },
      told: told("misplaced", "Send it as Authorization: Bearer"),
    },
    {
      name: "a key in the query",
      headers: {},
      query: `?key=${KEY}&api_key=${KEY}`,
      told: told("misplaced", "No <noun> is read from the query (key)."),
    },
    {
      name: "a key in a header of another service",
      headers: { "api-key": KEY },
      told: told("misplaced", "No <noun> is read from the header api-key."),
    },
    {
      name: "a key in a cookie",
      headers: { cookie: `key=${KEY}` },
      told: told("missing", "has no <noun>. Send it as"),
    },
    { name: "a key without sk-", headers: { authorization: `Bearer ${KEY.slice(3)}` }, told: malformed },
    {
      name: "a wrong checksum",
      headers: bearer(KEY.replace(/.$/, (end) => (end === "x" ? "y" : "x"))).headers,
      told: malformed,
    },
    { name: "a very long key", headers: { "x-api-key": `sk-${"x".repeat(100_000)}` }, told: malformed },
    { name: "what is not ASCII", headers: { authorization: "Bearer sk-\u00e9\u00e9" }, told: malformed },
    { name: "SQL without spaces", headers: { "x-api-key": "'OR'1'='1" }, told: malformed },
    { name: "a provider's key", headers: { "x-goog-api-key": "AIzaSyExample" }, told: malformed },
    {
      name: "two that differ",
      headers: { authorization: `Bearer ${KEY}`, "x-api-key": "sk-other" },
      told: told("ambiguous", "authorization and x-api-key hold different keys"),
    },
    {
      name: "two, the first empty",
      headers: { authorization: "Bearer ", "x-api-key": KEY },
      told: told("missing", "authorization has no <noun>"),
    },
    {
      name: "three of which one differs",
      headers: { authorization: `Bearer ${KEY}`, "x-api-key": KEY, "x-goog-api-key": "x" },
      told: told("ambiguous", "authorization and x-goog-api-key hold different keys"),
    },
    {
      name: "two Authorization headers, joined",
      headers: { authorization: `Bearer ${KEY}, Bearer ${KEY}` },
      told: told("ambiguous", "authorization stands more than once"),
    },
    {
      name: "two API keys, joined",
      headers: { "x-api-key": `${KEY}, ${KEY}` },
      told: told("ambiguous", "x-api-key stands more than once"),
    },
    {
      name: "one that nobody has",
      headers: { "x-api-key": DEAD.unknown },
      told: dead("api_key_unknown", "This gateway has no such API key"),
    },
    {
      name: "a revoked one",
      headers: { "x-api-key": DEAD.revoked },
      told: dead("api_key_revoked", "was revoked"),
    },
    {
      name: "an expired one",
      headers: { "x-api-key": DEAD.expired },
      told: dead("api_key_expired", "has expired"),
    },
    {
      name: "one of an account that is not active",
      headers: { "x-api-key": DEAD.account_inactive },
      told: dead("account_inactive", "is not active"),
    },
  ];
  // A key does not open the admin's routes, nor the admin's token a caller's.
  const other = {
    key: {
      name: "the admin token",
      headers: { authorization: `Bearer ${ADMIN}` },
      told: dead("admin_token_given", "This is the admin token, which opens /admin/v1 and /metrics alone."),
    },
    admin: {
      name: "an API key",
      headers: { authorization: `Bearer ${KEY}` },
      told: dead("", ""),
    },
  };

  for (const { method, path, access } of ROUTES) {
    if (access !== "key" && access !== "admin") continue;
    test(`${method} ${path} (${access}) answers each bad one with 401 and says which it is, without the key`, async () => {
      const { send, lines } = open();
      const secrets = [KEY.slice(3, 20), ADMIN, ...Object.values(DEAD).map((key) => key.slice(3, 20))];
      for (const { name, headers, query = "", told: each } of [...bad, { query: "", ...other[access] }]) {
        const response = await send(`${samplePath(path)}${query}`, { method: method.toUpperCase(), headers });
        expect([name, response.status]).toEqual([name, 401]);
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        const text = await response.text();
        const [code, words] = each[access];
        expect([name, text]).toEqual([name, expect.stringContaining(words)]);
        // Formats spell the code in lower or upper case.
        expect([name, text.toLowerCase()]).toEqual([name, expect.stringContaining(`"${code}"`)]);
        expect(JSON.parse(text).error.type).toBe("auth_error");
        expect([name, secrets.filter((secret) => text.includes(secret))]).toEqual([name, []]);
      }
      const logged = JSON.stringify(lines);
      expect(secrets.filter((secret) => logged.includes(secret))).toEqual([]);
    });
  }

  test("the same is asked for each key that opens nothing, whatever the reason", async () => {
    for (const key of Object.values(DEAD)) {
      const { send, asked, tokens } = open();
      await send("/api/v1/models", bearer(key));
      expect([asked, tokens]).toEqual([[key], [key]]);
    }
  });

  test("an API key on a path of the admin interface is known by its form, without the store", async () => {
    const { send, asked } = open();
    const { type } = await errorOf(await send("/admin/v1/keys", bearer(KEY)));
    expect([type, asked]).toEqual(["auth_error", []]);
  });

  const good = [
    { name: "Bearer", headers: { authorization: `Bearer ${KEY}` } },
    { name: "bearer in lower case", headers: { authorization: `bearer ${KEY}` } },
    { name: "two spaces", headers: { authorization: `Bearer  ${KEY}` } },
    { name: "x-api-key", headers: { "x-api-key": KEY } },
    { name: "x-goog-api-key", headers: { "x-goog-api-key": KEY } },
    { name: "two that are equal", headers: { authorization: `Bearer ${KEY}`, "x-api-key": KEY } },
  ];
  for (const { name, headers } of good) {
    test(`${name} is let in`, async () => {
      expect((await open().send("/api/v1/models", { headers })).status).toBe(200);
    });
  }

  test("a store that cannot be asked is 503 with Retry-After, never 401", async () => {
    const { send } = open({ authenticate: () => Promise.reject(new Error("disk at /secret")) });
    const response = await send("/api/v1/models", bearer(KEY));
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await response.text()).not.toContain("secret");
  });

  test("public routes ask nobody", async () => {
    const { send, asked } = open();
    for (const { method, path } of ROUTES.filter(({ access }) => access === "public")) {
      // The console's have tests of their own.
      if (path.startsWith("/console")) continue;
      // A path that names a model finds none here, no URL of a file is signed, and / takes browsers alone.
      const status = path.startsWith("/assets/") ? 403 : path.includes(":") || path === "/" ? 404 : 200;
      expect((await send(samplePath(path), { method: method.toUpperCase() })).status).toBe(status);
    }
    expect(asked).toEqual([]);
  });
});

describe("targets", () => {
  const cases = [
    { target: "/", status: 404 },
    // A slash at the end counts as none: a GET of what takes a POST.
    { target: "/api/v1/chat/completions/", status: 405 },
    { target: "/API/v1/models", status: 404 },
    { target: "//evil.com/x", status: 404 },
    { target: "/api/v1/models;x=1", status: 404 },
    { target: "/api/v1/%6dodels", status: 200 },
    { target: "/api/v1/models/a%00b", status: 400 },
    { target: "/api/v1/models/%ff", status: 400 },
    { target: "/api/v1/models/%E0%A4%A", status: 400 },
    { target: "/api/v1/models/a%252Fb", status: 404 },
    { target: "/api/v1/models/..%2f..%2fetc%2fpasswd", status: 404 },
    { target: "/api/v1/models/%2e%2e/%2e%2e/admin", status: 404 },
    { target: "/api/v1/models/openai%2Fx", status: 404 },
    { target: "/api/v1/models/__proto__", status: 404 },
    { target: `/api/v1/models/${"x".repeat(8_000)}`, status: 404 },
    { target: "/api/v1/models/a/b?category=language&category=image", status: 400 },
    { target: "/api/v1/models/a/b?category=__proto__", status: 404 },
    { target: "/admin", status: 404 },
  ];
  for (const { target, status } of cases) {
    const check = async (): Promise<void> => {
      const response = await open().send(target, bearer(KEY));
      const text = await response.text();
      expect(response.status).toBe(status);
      if (status !== 200) expect(JSON.parse(text).error.message.length).toBeLessThan(450);
    };
    test(`${target.slice(0, 60)} is ${status}`, check);
  }

  test("404 of an unknown path comes without asking for a credential", async () => {
    const response = await open().send("/nowhere");
    const error = await errorOf(response);
    expect([response.status, error.type]).toEqual([404, "not_found_error"]);
    expect(error.message).toEndWith("/llms.txt");
  });

  const paths = Map.groupBy(ROUTES, ({ path }) => path);
  for (const [path, routes] of paths) {
    test(`another method on ${path} is 405 and names those it takes`, async () => {
      const { send } = open();
      const allowed = routes.map(({ method }) => method.toUpperCase());
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY"]) {
        if (allowed.includes(method)) continue;
        const response = await send(samplePath(path), { method });
        const error = await errorOf(response);
        expect([method, response.status, error.type]).toEqual([method, 405, "invalid_request_error"]);
        expect(response.headers.get("allow")?.split(", ")).toEqual(allowed);
      }
    });
  }

  test("a relative target and two Hosts are 400", async () => {
    const { app } = open();
    const odd = {
      url: "/healthz",
      method: "GET",
      headers: new Headers(),
      signal: new AbortController().signal,
    };
    const relative = await app(odd as unknown as Request, CONNECTION);
    const twoHosts = { ...odd, url: "http://a/healthz", headers: new Headers({ host: "a, b" }) };
    const ambiguous = await app(twoHosts as unknown as Request, CONNECTION);
    expect([relative.status, ambiguous.status]).toEqual([400, 400]);
  });
});

describe("every answer", () => {
  const cases = ["/healthz", "/nowhere", "/api/v1/models", "/api/v1/models/%ff", "/readyz"];
  for (const path of cases) {
    test(`of ${path} has its request id twice, is not stored, varies by credential, and is one line of the log`, async () => {
      const { send, lines } = open();
      const { headers, status } = await send(path);
      const id = headers.get("x-request-id");
      expect(id).toMatch(/^req_[0-9a-f]{32}$/);
      expect(headers.get("request-id")).toBe(id);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("vary")).toContain("authorization");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatchObject({ request_id: id as string, status, path });
    });
  }

  test("about a model that is none is logged without the name that the caller gave", async () => {
    const { send, lines } = open();
    const response = await send("/api/v1/models/a-text-of-the-caller", bearer(KEY));
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("a-text-of-the-caller");
    expect(lines[0]?.refusal).toContain('"…"');
    expect(lines[0]?.refusal).not.toContain("a-text-of-the-caller");
  });

  test("of a route that breaks is 500, tells nothing of the inside, and the log knows", async () => {
    const { send, lines } = open({
      publicUrl: () => {
        throw new Error("secret inside");
      },
    });
    const response = await send("/api/v1/models", bearer(KEY));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("inside");
    expect(JSON.stringify(lines)).toContain("secret inside");
  });

  test("readyz is 503 while the gateway cannot take work", async () => {
    const { send } = open({ ready: () => Promise.reject(new Error("x")) });
    const response = await send("/readyz");
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "2"]);
  });
});

describe("bodies of the admin interface", () => {
  const post = (body: string, headers: Readonly<Record<string, string>> = {}): RequestInit => ({
    method: "POST",
    body,
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json", ...headers },
  });
  const cases = [
    { name: "empty", init: post("") },
    { name: "no JSON", init: post("{") },
    { name: "a byte order mark", init: post('\ufeff{"name":"a"}') },
    { name: "a list", init: post("[]") },
    { name: "too deep", init: post(`{"name":${"[".repeat(20)}${"]".repeat(20)}}`) },
    { name: "a name missing", init: post("{}"), param: "name" },
    { name: "a name of nothing", init: post('{"name":""}'), param: "name" },
    { name: "a name of 10 KB", init: post(JSON.stringify({ name: "x".repeat(10_240) })), param: "name" },
    { name: "a name that is a number", init: post('{"name":1}'), param: "name" },
    { name: "an unknown key", init: post('{"name":"a","admin":true}'), param: "admin" },
    { name: "__proto__", init: post('{"name":"a","__proto__":{"admin":1}}'), param: "__proto__" },
    { name: "another content type", init: post('{"name":"a"}', { "content-type": "text/plain" }) },
    {
      name: "another charset",
      init: post('{"name":"a"}', { "content-type": "application/json; charset=utf-16" }),
    },
  ];
  for (const { name, init, param = null } of cases) {
    test(`${name} is a 400`, async () => {
      const response = await open().send("/admin/v1/accounts", init);
      const error = await errorOf(response);
      expect([response.status, error.type, error.param]).toEqual([400, "invalid_request_error", param]);
    });
  }

  for (const encoding of ["gzip", "zstd", "br", "identity, gzip"])
    test(`a body in ${encoding} is a 415`, async () => {
      const init = post('{"name":"a"}', { "content-encoding": encoding });
      const response = await open().send("/admin/v1/accounts", init);
      expect([response.status, (await errorOf(response)).type]).toEqual([415, "invalid_request_error"]);
    });

  for (const query of ["limit=0", "limit=-1", "limit=1001", "limit=1e9", "limit=1.5", "limit=x", "limit="]) {
    test(`?${query} is a 400`, async () => {
      const response = await open().send(`/admin/v1/accounts?${query}`, bearer(ADMIN));
      expect([response.status, (await errorOf(response)).param]).toEqual([400, "limit"]);
    });
  }
});

test("a list that the kernel may not take at once is cut when its client takes nothing, as any plain answer is", async () => {
  const cut: string[] = [];
  const accounts = async (): Promise<Uint8Array> => new Uint8Array(40_000);
  const { app } = open({ admin: { accounts } as unknown as EdgeServices["admin"] });
  for (const path of ["/openapi.json", "/admin/v1/accounts", "/healthz"]) {
    const request = new Request(`http://gateway${path}`, bearer(ADMIN));
    await app(request, { ...CONNECTION, limitStall: () => void cut.push(path) });
  }
  expect(cut).toEqual(["/openapi.json", "/admin/v1/accounts"]);
});

test("what depends on a session says so to caches, and is kept by none, refused or not", async () => {
  const find = () => Promise.reject(new GatewayError("auth_error", "There is none."));
  const { send } = open({ web: { sessions: { find } } } as unknown as Partial<EdgeServices>);
  for (const path of ["/console/api/session", "/console/api/playground"]) {
    const { status, headers } = await send(path);
    expect([path, status, headers.get("vary"), headers.get("cache-control")]).toEqual([
      path,
      401,
      "cookie",
      "no-store",
    ]);
  }
  expect((await send("/healthz")).headers.get("vary")).not.toBe("cookie");
});

test("an address has its room again once its client has gone, though the request goes on", async () => {
  const inside = new Set<string>();
  const admit = (address: string) => {
    inside.add(address);
    return () => void inside.delete(address);
  };
  const known = Promise.withResolvers<never>();
  const { app } = open({
    addresses: { admit },
    authenticate: () => known.promise,
  } as unknown as Partial<EdgeServices>);
  const client = new AbortController();
  const connection = { ...CONNECTION, address: () => "192.0.2.1" };
  const request = new Request("http://gateway/api/v1/models", { ...bearer(KEY), signal: client.signal });
  const answer = app(request, connection);
  expect([...inside]).toEqual(["192.0.2.1"]);
  client.abort();
  expect([...inside]).toEqual([]);
  known.reject(new GatewayError("overloaded_error", "The store is away."));
  expect((await answer).status).toBe(503);
});
