import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openForWriting } from "../../src/db/sqlite-file.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type Json, type TestGateway } from "../gateway/gateway.ts";

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({ openai: `${double.url}/v1`, credits: 100 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const body = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "hi" }], max_tokens: 64 };

test("an account is opened, credited, shown and listed", async () => {
  const opened = await gateway.admin("POST", "/accounts", { name: "Ada" });
  expect(opened).toMatchObject({ status: 201, json: { name: "Ada", balance: 0, held: 0 } });
  const credits = `/accounts/${opened.json.id}/credits`;
  expect(await gateway.admin("POST", credits, { amount: 12.345678, reason: "start" })).toMatchObject({
    status: 200,
    json: { balance: 12.345678 },
  });
  expect((await gateway.admin("GET", `/accounts/${opened.json.id}`)).json.balance).toBe(12.345678);
  const { json } = await gateway.admin("GET", "/accounts?limit=1");
  expect(json.data.length).toBe(1);
  const { json: rest } = await gateway.admin("GET", `/accounts?after=${json.next}`);
  expect(rest.data.map((account: Json) => account.id)).toContain(opened.json.id);
});

test("a grant with an idempotency key happens once; another amount under it is refused", async () => {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "once" });
  const path = `/accounts/${account.id}/credits`;
  const grant = { amount: 5, reason: "r", idempotency_key: "k" };
  const answers = await Promise.all(Array.from({ length: 20 }, () => gateway.admin("POST", path, grant)));
  expect(answers.every(({ status, json }) => status === 200 && json.balance === 5)).toBe(true);
  expect((await gateway.admin("POST", path, { ...grant, amount: 6 })).status).toBe(400);
  expect((await gateway.admin("GET", `/accounts/${account.id}`)).json.balance).toBe(5);
});

test("credit is taken back, never below what is held", async () => {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "back" });
  const path = `/accounts/${account.id}/credits`;
  await gateway.admin("POST", path, { amount: 10, reason: "r" });
  expect((await gateway.admin("POST", path, { amount: -4, reason: "r" })).json.balance).toBe(6);
  const refused = await gateway.admin("POST", path, { amount: -7, reason: "r" });
  expect(refused).toMatchObject({ status: 409, json: { error: { type: "conflict_error" } } });
});

for (const amount of [0, 0.0000001, 1e30, "5", null]) {
  test(`an amount of ${JSON.stringify(amount)} is refused by name`, async () => {
    const answer = await gateway.admin("POST", `/accounts/${gateway.accountId}/credits`, {
      amount,
      reason: "r",
    });
    expect(answer).toMatchObject({
      status: 400,
      json: { error: { type: "invalid_request_error", param: "amount" } },
    });
  });
}

test("0.1 and 0.2 credits are 0.3 credits", async () => {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "sum" });
  const path = `/accounts/${account.id}/credits`;
  await gateway.admin("POST", path, { amount: 0.1, reason: "r" });
  expect((await gateway.admin("POST", path, { amount: 0.2, reason: "r" })).json.balance).toBe(0.3);
});

test("the ledger explains the balance, entry by entry, and equals what the client was told", async () => {
  double.handle(() =>
    chatAnswer({ words: ["a"], usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 } }),
  );
  const answer = (await (await gateway.chat(body)).json()) as Json;
  const { json } = await gateway.admin("GET", `/accounts/${gateway.accountId}/ledger`);
  const last = json.data.at(-1);
  expect(last).toMatchObject({ kind: "settle", amount: -answer.credit });
  expect(last.request_id).toStartWith("req_");
  const sum = json.data.reduce((total: number, entry: Json) => total + Math.round(entry.amount * 1e6), 0);
  expect(sum / 1e6).toBe((await gateway.account()).balance);
  expect(last.balance_after).toBe((await gateway.account()).balance);
});

test("the ledger can be asked for by time, to the millisecond", async () => {
  const clock = createFakeClock(1_800_000_000_000);
  const dated = await startGateway({ clock, credits: 0 });
  const path = `/accounts/${dated.accountId}`;
  try {
    for (const amount of [1, 2, 3]) {
      await dated.admin("POST", `${path}/credits`, { amount, reason: "r" });
      await clock.advance(1);
    }
    const amounts = async (query: string): Promise<readonly number[]> =>
      (await dated.admin("GET", `${path}/ledger?${query}`)).json.data.map(({ amount }: Json) => amount);
    expect(await amounts("from=1800000000.001")).toEqual([2, 3]);
    expect(await amounts("to=1800000000.001")).toEqual([1]);
    expect(await amounts("from=1800000000.001&to=1800000000.002")).toEqual([2]);
    expect(await amounts("from=1800000001")).toEqual([]);
    const { status, json } = await dated.admin("GET", `${path}/ledger?from=yesterday`);
    expect([status, json.error.param]).toEqual([400, "from"]);
  } finally {
    await dated.close();
  }
});

test("the ledger begins with the oldest entry, or with the newest where that is asked for, page after page", async () => {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "either way" });
  const path = `/accounts/${account.id}`;
  for (const amount of [1, 2, 3]) await gateway.admin("POST", `${path}/credits`, { amount, reason: "r" });
  const read = async (query: string): Promise<Json> => {
    const { json } = await gateway.admin("GET", `${path}/ledger?${query}`);
    return { amounts: json.data.map(({ amount }: Json) => amount), next: json.next };
  };
  expect((await read("")).amounts).toEqual([1, 2, 3]);
  expect((await read("order=asc")).amounts).toEqual([1, 2, 3]);
  const newest = await read("order=desc&limit=2");
  expect(newest.amounts).toEqual([3, 2]);
  expect(await read(`order=desc&limit=2&after=${newest.next}`)).toEqual({ amounts: [1], next: null });
  const { status, json } = await gateway.admin("GET", `${path}/ledger?order=newest`);
  expect([status, json.error.param]).toEqual([400, "order"]);
});

test("one key is shown as in the list with what it uses of its limits, and the list can be that of one account", async () => {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "with one key" });
  const { json: issued } = await gateway.admin("POST", "/keys", { account_id: account.id, name: "only" });
  const { key, ...row } = issued;
  expect(await gateway.admin("GET", `/keys/${row.id}`)).toEqual({
    status: 200,
    json: {
      ...row,
      limits_used: { requests_per_minute: null, tokens_per_minute: null, concurrency: null },
      available: { amount: 0, bound: "balance" },
    },
  });
  expect((await gateway.admin("GET", `/keys?account_id=${account.id}`)).json).toEqual({
    data: [row],
    next: null,
  });
  const all = (await gateway.admin("GET", "/keys")).json.data;
  expect(all.length).toBeGreaterThan(1);
  expect(JSON.stringify(all)).not.toContain(key);
  expect((await gateway.admin("GET", "/keys/key_none")).status).toBe(404);
  const unknown = await gateway.admin("GET", "/keys?account_id=acct_none");
  expect([unknown.status, unknown.json.error.param]).toEqual([400, "account_id"]);
});

test("a key is shown once, restricted to models, renamed and revoked", async () => {
  const issued = await gateway.admin("POST", "/keys", {
    account_id: gateway.accountId,
    name: "k",
    models: ["openai/gpt-5.6-sol"],
  });
  expect(issued).toMatchObject({
    status: 201,
    json: { name: "k", models: ["openai/gpt-5.6-sol"], revoked_at: null },
  });
  const { key, id } = issued.json;
  const { json: list } = await gateway.admin("GET", "/keys");
  expect(JSON.stringify(list)).not.toContain(key);
  const headers = { authorization: `Bearer ${key}` };
  const refused = (await (await gateway.chat(body, { headers })).json()) as Json;
  expect(refused.error).toMatchObject({
    type: "invalid_request_error",
    param: "model",
    code: "model_not_allowed",
    message: "This API key may not use the model openai/gpt-5.6-luna. It may use openai/gpt-5.6-sol.",
  });
  expect((await gateway.admin("PATCH", `/keys/${id}`, { models: null, name: "all" })).json).toMatchObject({
    name: "all",
    models: null,
  });
  expect((await gateway.chat(body, { headers })).status).toBe(200);
  expect((await gateway.admin("DELETE", `/keys/${id}`)).status).toBe(200);
  expect((await gateway.chat(body, { headers })).status).toBe(401);
});

test("a key has the expiry, budget, limits and routes that it was given, and a change leaves the others", async () => {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "with limits" });
  await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 10, reason: "r" });
  const given = {
    name: "k",
    expires_at: 4_000_000_000,
    budget: 2.5,
    limits: { requests_per_minute: 5, tokens_per_minute: 6, concurrency: 7 },
    routes: true,
  };
  const { json: issued } = await gateway.admin("POST", "/keys", { account_id: account.id, ...given });
  expect(issued).toMatchObject({ ...given, models: null, spent: 0, held: 0, revoked_at: null });
  expect(issued.created_at).toBeGreaterThan(1_700_000_000);
  const shown = async () => (await gateway.admin("GET", `/keys/${issued.id}`)).json;
  expect(await shown()).toMatchObject({ ...given, available: { amount: 2.5, bound: "budget" } });
  const now: Json = { ...given, limits: { ...given.limits } };
  for (const change of [
    { expires_at: 4_000_000_001 },
    { expires_at: null },
    { budget: 20 },
    { budget: null },
    { limits: { tokens_per_minute: null } },
    { routes: false },
    { name: "l" },
  ] as Json[]) {
    const { limits, ...others } = change;
    Object.assign(now, others);
    Object.assign(now.limits, limits);
    expect((await gateway.admin("PATCH", `/keys/${issued.id}`, change)).json).toMatchObject(now);
    expect(await shown()).toMatchObject(now);
  }
  expect((await shown()).available).toEqual({ amount: 10, bound: "balance" });
  const fine = await gateway.admin("PATCH", `/keys/${issued.id}`, { budget: 0.0000001 });
  expect([fine.status, fine.json.error.param]).toEqual([400, "budget"]);
});

test("a key expires at any second up to the year 9999, and at no other", async () => {
  const issue = async (expires_at: number) => {
    const { status, json } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "k",
      expires_at,
    });
    return status === 201 ? json.expires_at : json.error.param;
  };
  expect([await issue(0), await issue(253_402_300_799)]).toEqual([0, 253_402_300_799]);
  for (const wrong of [-1, 253_402_300_800, 1.5]) expect(await issue(wrong)).toBe("expires_at");
});

test("a key that nobody has is not revoked: a 404 that names it", async () => {
  expect(await gateway.admin("DELETE", "/keys/key_none")).toEqual({
    status: 404,
    json: { error: expect.objectContaining({ type: "not_found_error" }) },
  });
});

test("a key is revoked once that is written: a 503 while the store is away, and the key goes on", async () => {
  const { json: issued } = await gateway.admin("POST", "/keys", { account_id: gateway.accountId, name: "k" });
  const headers = { authorization: `Bearer ${issued.key}` };
  const revokedAt = async (): Promise<number | null> => {
    const { json } = await gateway.admin("GET", "/keys");
    return json.data.find(({ id }: Json) => id === issued.id).revoked_at;
  };
  const other = openForWriting(join(gateway.home, "switchyard.db"));
  try {
    other.execute("begin immediate");
    const refused = await gateway.admin("DELETE", `/keys/${issued.id}`);
    expect([refused.status, refused.json.error.type]).toEqual([503, "overloaded_error"]);
  } finally {
    other.execute("rollback");
    other.close();
  }
  expect(await revokedAt()).toBeNull();
  expect((await gateway.chat(body, { headers })).status).toBe(200);
  expect((await gateway.admin("DELETE", `/keys/${issued.id}`)).status).toBe(200);
  expect(await revokedAt()).toBeGreaterThan(0);
  expect((await gateway.chat(body, { headers })).status).toBe(401);
});

describe("a key for a model that nobody has", () => {
  const named = ["openai/gpt-5.6-luna", "openai/gpt-5.6-lune"];
  const refusal = {
    status: 400,
    json: {
      error: {
        message: 'models[1] is "openai/gpt-5.6-lune", and there is no such model.',
        type: "invalid_request_error",
        param: "models[1]",
      },
    },
  };

  test("is not issued", async () => {
    const before = (await gateway.admin("GET", "/keys")).json.data.length;
    const request = { account_id: gateway.accountId, name: "k", models: named };
    expect(await gateway.admin("POST", "/keys", request)).toMatchObject(refusal);
    expect((await gateway.admin("GET", "/keys")).json.data.length).toBe(before);
  });

  test("is not made of one that is there, whatever else is asked of it", async () => {
    const { json: key } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "k",
      models: named.slice(0, 1),
    });
    expect(await gateway.admin("PATCH", `/keys/${key.id}`, { name: "other", models: named })).toMatchObject(
      refusal,
    );
    const { json: list } = await gateway.admin("GET", "/keys");
    expect(list.data.find(({ id }: Json) => id === key.id)).toMatchObject({ name: "k", models: key.models });
  });

  test("is another thing than one for a model that nobody serves now", async () => {
    const request = {
      account_id: gateway.accountId,
      name: "k",
      models: ["zhipu/glm-5.2", "alibaba/wan-2.6"],
    };
    expect((await gateway.admin("POST", "/keys", request)).status).toBe(201);
  });
});

describe("a name in the query that the admin interface does not know", () => {
  const paths = [
    ["GET", "/accounts"],
    ["GET", "/accounts/acct_none"],
    ["GET", "/accounts/acct_none/ledger"],
    ["GET", "/keys"],
    ["GET", "/keys/key_none"],
    ["DELETE", "/keys/key_none"],
    ["GET", "/requests"],
    ["GET", "/requests/req_none"],
    ["GET", "/tasks"],
    ["GET", "/tasks/img_none"],
    ["GET", "/audit"],
    ["GET", "/status"],
  ] as const;
  for (const [method, path] of paths)
    test(`is a 400 that names it: ${method} ${path}`, async () => {
      for (const name of ["acount_id", "__proto__", "Limit", "limit%20"]) {
        const { status, json } = await gateway.admin(method, `${path}?${name}=x`);
        const told = decodeURIComponent(name);
        expect([status, json.error.type, json.error.param]).toEqual([400, "invalid_request_error", told]);
        expect(json.error.message).toStartWith(`"${told}" is not known here. `);
      }
    });

  test("is told beside those that it does know, and one that stands twice is as little taken", async () => {
    const { json } = await gateway.admin("GET", "/accounts?account=a");
    expect(json.error.message).toBe('"account" is not known here. The query takes after, limit.');
    const twice = await gateway.admin("GET", "/keys?limit=1&limit=2");
    expect([twice.status, twice.json.error.param]).toEqual([400, "limit"]);
  });

  test("says nothing to whoever has no admin token", async () => {
    expect((await fetch(`${gateway.url}/admin/v1/keys?acount_id=x`)).status).toBe(401);
  });
});

for (const { path, json } of [
  { path: "/keys", json: { account_id: "acct_none", name: "k" } },
  { path: "/accounts/acct_none/credits", json: { amount: 1, reason: "r" } },
]) {
  test(`an unknown account at ${path} is a 404`, async () => {
    expect((await gateway.admin("POST", path, json)).status).toBe(404);
  });
}

test("one key tells what its next request may hold, and whether the balance or the budget bounds it", async () => {
  const { json: account } = await gateway.admin("POST", "/accounts", { name: "shared" });
  await gateway.admin("POST", `/accounts/${account.id}/credits`, { amount: 100.3, reason: "r" });
  const issue = async (name: string): Promise<Json> =>
    (await gateway.admin("POST", "/keys", { account_id: account.id, name })).json;
  const [own, other] = [await issue("own"), await issue("other")];
  const available = async (): Promise<Json> => (await gateway.admin("GET", `/keys/${own.id}`)).json.available;
  const setBudget = (budget: number | null) => gateway.admin("PATCH", `/keys/${own.id}`, { budget });
  const ask = async (key: Json): Promise<Json> => {
    const response = await gateway.chat(body, { headers: { authorization: `Bearer ${key.key}` } });
    return response.json();
  };
  expect(await available()).toEqual({ amount: 100.3, bound: "balance" });
  await setBudget(100.2);
  expect(await available()).toEqual({ amount: 100.2, bound: "budget" });
  await setBudget(100.3);
  expect(await available()).toEqual({ amount: 100.3, bound: "balance" });

  // What is held counts as gone, in the balance and, where the key itself holds it, in the budget.
  const gate = createGate();
  const slow = gateAt(chatAnswer({ words: ["a"] }), "start", gate);
  double.enqueue(slow, slow);
  const answers = [ask(own), ask(other)];
  const rows = async (): Promise<readonly Json[]> =>
    (await gateway.admin("GET", `/keys?account_id=${account.id}`)).json.data;
  while ((await rows()).some(({ held }) => held === 0)) await Bun.sleep(1);
  const [{ held }] = (await rows()) as [Json];
  const both = (await gateway.admin("GET", `/accounts/${account.id}`)).json.held;
  expect(both).toBeGreaterThan(held);
  expect(await available()).toEqual({ amount: rounded(100.3 - both), bound: "balance" });
  await setBudget(50);
  expect(await available()).toEqual({ amount: rounded(50 - held), bound: "budget" });
  gate.release();
  const [{ credit }] = (await Promise.all(answers)) as [Json, Json];
  await gateway.settled();
  expect(await available()).toEqual({ amount: rounded(50 - credit), bound: "budget" });
  await setBudget(0);
  expect(await available()).toEqual({ amount: 0, bound: "budget" });
});

/** To the micro-credit, in which the books count. */
function rounded(credits: number): number {
  return Math.round(credits * 1e6) / 1e6;
}

test("limits of a key are set, shown, changed one by one and taken away", async () => {
  const issued = await gateway.admin("POST", "/keys", {
    account_id: gateway.accountId,
    name: "k",
    limits: { requests_per_minute: 60, concurrency: null },
  });
  const none = { requests_per_minute: null, tokens_per_minute: null, concurrency: null };
  expect(issued).toMatchObject({ status: 201, json: { limits: { ...none, requests_per_minute: 60 } } });
  const path = `/keys/${issued.json.id}`;
  const steps: readonly [limits: object | null | undefined, after: object][] = [
    [{ tokens_per_minute: 100_000 }, { requests_per_minute: 60, tokens_per_minute: 100_000 }],
    [undefined, { requests_per_minute: 60, tokens_per_minute: 100_000 }],
    [
      { requests_per_minute: null, concurrency: 4 },
      { tokens_per_minute: 100_000, concurrency: 4 },
    ],
    [{}, { tokens_per_minute: 100_000, concurrency: 4 }],
    [null, {}],
  ];
  for (const [limits, after] of steps) {
    const { status, json } = await gateway.admin("PATCH", path, limits === undefined ? {} : { limits });
    expect([status, json.limits]).toEqual([200, { ...none, ...after }]);
    const { json: list } = await gateway.admin("GET", "/keys?limit=1000");
    expect(list.data.find(({ id }: Json) => id === issued.json.id).limits).toEqual({ ...none, ...after });
  }
});

test("whether a key may ask for a route is set, shown, changed and left alone", async () => {
  const key = { account_id: gateway.accountId, name: "k" };
  expect(await gateway.admin("POST", "/keys", key)).toMatchObject({ status: 201, json: { routes: false } });
  const issued = await gateway.admin("POST", "/keys", { ...key, routes: true });
  expect(issued).toMatchObject({ status: 201, json: { routes: true } });
  const path = `/keys/${issued.json.id}`;
  for (const [change, routes] of [
    [{ name: "other" }, true],
    [{ routes: false }, false],
    [{ budget: 1 }, false],
    [{ routes: true }, true],
  ] as const) {
    expect(await gateway.admin("PATCH", path, change)).toMatchObject({ status: 200, json: { routes } });
    const { json: list } = await gateway.admin("GET", "/keys?limit=1000");
    expect(list.data.find(({ id }: Json) => id === issued.json.id).routes).toBe(routes);
  }
  for (const routes of [null, 1, "true"]) {
    const want = { status: 400, json: { error: { type: "invalid_request_error", param: "routes" } } };
    expect(await gateway.admin("POST", "/keys", { ...key, routes })).toMatchObject(want);
    expect(await gateway.admin("PATCH", path, { routes })).toMatchObject(want);
  }
});

test("a limit of one, and of the most there can be, is taken", async () => {
  for (const most of [1, 1_000_000_000_000]) {
    const limits = { requests_per_minute: most, tokens_per_minute: most, concurrency: most };
    const key = { account_id: gateway.accountId, name: "n".repeat(200), limits };
    expect(await gateway.admin("POST", "/keys", key)).toMatchObject({ status: 201, json: { limits } });
  }
  const long = { account_id: gateway.accountId, name: "n".repeat(201) };
  expect((await gateway.admin("POST", "/keys", long)).json.error.param).toBe("name");
});

for (const { limits, param } of [
  { limits: { requests_per_day: 5 }, param: "limits.requests_per_day" },
  { limits: { concurrency: 0 }, param: "limits.concurrency" },
  { limits: { concurrency: -1 }, param: "limits.concurrency" },
  { limits: { tokens_per_minute: 1.5 }, param: "limits.tokens_per_minute" },
  { limits: { requests_per_minute: "60" }, param: "limits.requests_per_minute" },
  { limits: { tokens_per_minute: 1_000_000_000_001 }, param: "limits.tokens_per_minute" },
  { limits: { requests_per_minute: 0 }, param: "limits.requests_per_minute" },
  { limits: 60, param: "limits" },
]) {
  test(`limits of ${JSON.stringify(limits)} are refused by name`, async () => {
    const want = { status: 400, json: { error: { type: "invalid_request_error", param } } };
    const key = { account_id: gateway.accountId, name: "k", limits };
    expect(await gateway.admin("POST", "/keys", key)).toMatchObject(want);
    expect(await gateway.admin("PATCH", `/keys/${gateway.keyId}`, { limits })).toMatchObject(want);
  });
}

test("an API key is no admin token, and the admin token is no API key", async () => {
  const asAdmin = await fetch(`${gateway.url}/admin/v1/accounts`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  expect(asAdmin.status).toBe(401);
  const { ADMIN_TOKEN } = await import("../gateway/gateway.ts");
  expect((await gateway.chat(body, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } })).status).toBe(
    401,
  );
});

test("parallel requests on credit for a few: exactly those reach upstream, the rest are 402, sums exact", async () => {
  const poor = await startGateway({ openai: `${double.url}/v1`, credits: 5 });
  double.handle(() =>
    chatAnswer({ words: ["a"], usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 } }),
  );
  const before = double.requests.length;
  const answers = await Promise.all(Array.from({ length: 200 }, () => poor.chat(body)));
  const paid = answers.filter((answer) => answer.status === 200).length;
  expect(answers.filter((answer) => answer.status === 402).length).toBe(200 - paid);
  expect(double.requests.length - before).toBe(paid);
  expect(paid).toBeGreaterThan(0);
  await poor.settled();
  expect((await poor.account()).balance).toBe(Number((5 - paid * 0.07).toFixed(6)));
  await poor.close();
});

test("a sum that is too large is told the largest", async () => {
  const { json } = await gateway.admin("POST", "/accounts", { name: "rich" });
  const largest = 9_007_199_254;
  for (const amount of [9_007_199_255, -9_007_199_255, 1e300]) {
    const refused = await gateway.admin("POST", `/accounts/${json.id}/credits`, { amount, reason: "r" });
    expect([amount, refused.status]).toEqual([amount, 400]);
    expect(refused.json.error.message).toContain(String(largest));
  }
  const given = await gateway.admin("POST", `/accounts/${json.id}/credits`, { amount: largest, reason: "r" });
  expect([given.status, given.json.balance]).toEqual([200, largest]);
  const key = await gateway.admin("POST", "/keys", { account_id: json.id, name: "k", budget: 1e10 });
  expect([key.status, key.json.error.param]).toEqual([400, "budget"]);
  expect(key.json.error.message).toContain(String(largest));
});
