import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import {
  AT_ONCE,
  type HeaderRecord,
  RUNNING,
  startTaskStation,
  type TaskStation,
  WAITING,
} from "./task-station.ts";

// How much may be asked for at once: by account, by key, and while the gateway shuts down.

let station: TaskStation;
beforeAll(async () => {
  station = await startTaskStation({ settings: JSON.stringify({ tasks: { pending_per_account: 2 } }) });
});
afterAll(() => station.gateway.close());

const PLAIN = { async: false };

async function told(response: Response) {
  const { error } = (await response.json()) as Json;
  const { status, headers } = response;
  return {
    status,
    type: error?.type as string | undefined,
    message: error?.message as string | undefined,
    retryAfter: Number(headers.get("retry-after") ?? "0"),
    shouldRetry: headers.get("x-should-retry"),
  };
}

/** Waits until the account's newest task is in that state. */
async function newest(accountId: string, status: string): Promise<Json> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await Bun.sleep(20)) {
    const { json } = await station.gateway.admin("GET", `/tasks?account_id=${accountId}&limit=1`);
    if (json.data[0]?.status === status) return json.data[0];
  }
  throw new Error(`The newest task is not ${status}.`);
}

test("an account has so many waiting tasks and no more, of both kinds together: images 429, videos 400", async () => {
  const { headers, accountId } = await station.issue(1_000_000);
  const other = await station.issue(1_000_000);
  const orders = { ...WAITING, ...headers };
  const first = await station.submit("image", {}, orders);
  const second = await station.submit("video", {}, orders);
  for (const body of [{}, PLAIN]) {
    const refused = await told(await station.post("image", body, orders));
    expect(refused).toMatchObject({ status: 429, type: "rate_limit_error", shouldRetry: null });
    expect(refused.retryAfter).toBeGreaterThan(0);
  }
  const refused = await told(await station.post("video", {}, orders));
  expect(refused).toMatchObject({ status: 400, type: "invalid_request_error", retryAfter: 0 });
  expect(refused.message).toContain("as many tasks waiting as it may have");
  await station.submit("video", {}, { ...WAITING, ...other.headers });
  const held = (await station.gateway.admin("GET", `/accounts/${accountId}`)).json.held;
  await station.cancel(first.polling_url, headers);
  const third = await station.submit("video", {}, orders);
  expect((await station.gateway.admin("GET", `/accounts/${accountId}`)).json.held).toBeGreaterThan(held);
  for (const { polling_url } of [second, third]) await station.cancel(polling_url, headers);
});

test("a plain request has its place among those of its key until it is answered, a task until its 202", async () => {
  const { headers, accountId } = await station.issue(100_000, { concurrency: 1 });
  const ask = (orders: HeaderRecord, body: object = {}, init: RequestInit = {}) =>
    station.gateway.post(
      "/api/v1/images/generations",
      { model: "alibaba/qwen-image-2.0", prompt: "x", size: "512*512", ...body },
      { ...init, headers: { ...orders, ...headers } },
    );
  const client = new AbortController();
  const gone = ask(RUNNING, PLAIN, { signal: client.signal }).catch(() => undefined);
  await newest(accountId, "running");
  for (const body of [PLAIN, { async: true }])
    expect(await told(await ask(AT_ONCE, body))).toMatchObject({ status: 429, type: "rate_limit_error" });
  const video = await told(await station.post("video", {}, { ...AT_ONCE, ...headers }));
  expect([video.status, video.type, video.retryAfter]).toEqual([503, "overloaded_error", 1]);
  client.abort();
  await gone;
  await newest(accountId, "failed");
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await Bun.sleep(20))
    if ((await ask(AT_ONCE, PLAIN)).status === 200) break;
  const tasks: Json[] = [];
  for (let i = 0; i < 2; i += 1) {
    const response = await ask(WAITING, { async: true });
    expect(response.status).toBe(202);
    tasks.push(await response.json());
  }
  for (const { polling_url } of tasks) await station.cancel(polling_url, headers);
});

test("answers say how the key stands, and refusals when to come again", async () => {
  const { headers } = await station.issue(100_000, { requests_per_minute: 1 });
  const response = await station.post("image", PLAIN, { ...AT_ONCE, ...headers });
  expect([response.status, response.headers.get("x-ratelimit-remaining-requests")]).toEqual([200, "0"]);
  const refused = await told(await station.post("image", PLAIN, { ...AT_ONCE, ...headers }));
  expect(refused.status).toBe(429);
  expect(refused.retryAfter).toBeGreaterThan(50);
  // What cannot be is told before any limit, and 402 after.
  expect((await station.post("image", { n: 9 }, headers)).status).toBe(400);
  const poor = await station.issue(0, { requests_per_minute: 1 });
  expect((await station.post("image", {}, poor.headers)).status).toBe(402);
  expect((await station.post("image", {}, poor.headers)).status).toBe(429);
});

test("a key of some models is told of no other", async () => {
  const { gateway } = station;
  const request = { account_id: gateway.accountId, name: "one", models: ["openai/gpt-image-2"] };
  const { json: key } = await gateway.admin("POST", "/keys", request);
  const headers = { ...WAITING, authorization: `Bearer ${key.key}` };
  const { status, message } = await told(await station.post("image", {}, headers));
  const words = "This API key may not use the model alibaba/qwen-image-2.0. It may use openai/gpt-image-2.";
  expect([status, message]).toEqual([400, words]);
  const unknown = await told(await station.post("image", { model: "midjourney/midjourny" }, headers));
  expect(unknown.status).toBe(400);
  expect(unknown.message).not.toContain("midjourney/midjourney");
});

test("a request that waits while the gateway shuts down is a 503, and costs nothing", async () => {
  const other = await startTaskStation();
  const { accountId, headers } = await other.issue(1_000);
  const waits = other.post("image", PLAIN, { ...RUNNING, ...headers });
  for (let status = ""; status !== "running"; await Bun.sleep(20))
    status = (await other.gateway.admin("GET", `/tasks?account_id=${accountId}`)).json.data[0]?.status;
  other.gateway.services.drain();
  other.gateway.services.endCalls();
  const stopped = await told(await waits);
  expect(stopped).toMatchObject({ status: 503, type: "overloaded_error" });
  expect(stopped.retryAfter).toBeGreaterThan(0);
  for (let held = 1; held !== 0; await Bun.sleep(20))
    ({ held } = (await other.gateway.admin("GET", `/accounts/${accountId}`)).json);
  const { json } = await other.gateway.admin("GET", `/accounts/${accountId}`);
  expect(json.balance).toBe(1_000);
  await other.gateway.close();
});
