import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Json } from "../gateway/gateway.ts";
import { PATHS, startTaskStation, type TaskStation, WAITING } from "./task-station.ts";

// What costs nothing is never refused by the limits of a key: it can see and end what it has begun.

let station: TaskStation;
beforeAll(async () => {
  station = await startTaskStation();
});
afterAll(() => station.gateway.close());

type Headers = Readonly<Record<string, string>>;

/** An account with two waiting tasks, and keys to it. */
async function openAccount(credits: number) {
  const { accountId, headers: free } = await station.issue(credits);
  const keyWith = async (more: object): Promise<Headers> => {
    const request = { account_id: accountId, name: "limited", ...more };
    const { json } = await station.gateway.admin("POST", "/keys", request);
    return { authorization: `Bearer ${json.key}` };
  };
  const image: Json = await station.submit("image", {}, { ...WAITING, ...free });
  const video: Json = await station.submit("video", {}, { ...WAITING, ...free });
  return { accountId, free, keyWith, tasks: [image, video] as const };
}

/** What is asked for with the key is refused now, as a request for something new. */
async function isRefused(headers: Headers, status: number): Promise<void> {
  const response = await station.post("image", {}, { ...WAITING, ...headers });
  expect(response.status).toBe(status);
}

const COUNTED = {
  model: "anthropic/claude-haiku-4.5",
  messages: [{ role: "user", content: "Say hello." }],
};

/** Reads, counts, polls and cancels everything with the key, often enough for any limit of a minute. */
async function readsAndCancels(headers: Headers, [image, video]: readonly [Json, Json]): Promise<void> {
  const get = async (path: string): Promise<number> =>
    (await fetch(station.gateway.url + path, { headers })).status;
  const paths = ["/api/v1/models", "/api/v1/models/alibaba/qwen-image-2.0?category=image"];
  for (let times = 0; times < 5; times += 1)
    for (const path of [...paths, image.polling_url, video.polling_url]) expect(await get(path)).toBe(200);
  const counted = await station.gateway.post("/api/v1/messages/count_tokens", COUNTED, { headers });
  expect(counted.status).toBe(200);
  for (const { polling_url } of [image, video]) {
    expect((await station.cancel(polling_url, headers)).status).toBe(200);
    expect((await station.read(polling_url, headers)).json.status).toBe("cancelled");
    // Refused by what it is, not by a limit.
    expect((await station.cancel(`${polling_url}x`, headers)).status).toBe(404);
  }
}

describe("a key reads, polls and cancels, counts, and lists models", () => {
  test("whose requests of this minute are used up", async () => {
    const { keyWith, tasks } = await openAccount(100_000);
    const headers = await keyWith({ limits: { requests_per_minute: 1 } });
    expect((await station.post("image", {}, { ...WAITING, ...headers })).status).toBe(202);
    await isRefused(headers, 429);
    await readsAndCancels(headers, tasks);
    await isRefused(headers, 429);
  });

  test("whose tokens of this minute are too few for any request", async () => {
    const { keyWith, tasks } = await openAccount(100_000);
    const headers = await keyWith({ limits: { tokens_per_minute: 1 } });
    const chat = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Say hello." }] };
    expect((await station.gateway.chat(chat, { headers })).status).toBe(429);
    await readsAndCancels(headers, tasks);
  });

  test("that has as many requests under way as it may", async () => {
    const { accountId, keyWith, tasks } = await openAccount(100_000);
    const headers = await keyWith({ limits: { concurrency: 1 } });
    const gone = new AbortController();
    const body = { model: "alibaba/qwen-image-2.0", prompt: "x", size: "512*512" };
    const init = { headers: { ...WAITING, ...headers }, signal: gone.signal };
    const waits = station.gateway.post(PATHS.image, body, init).catch(() => undefined);
    for (let tasksThere = 0; tasksThere < 3; await Bun.sleep(10))
      tasksThere = (await station.gateway.admin("GET", `/tasks?account_id=${accountId}`)).json.data.length;
    await isRefused(headers, 429);
    await readsAndCancels(headers, tasks);
    await isRefused(headers, 429);
    gone.abort();
    await waits;
  });

  test("whose account has no credit left", async () => {
    const { accountId, free, tasks } = await openAccount(100_000);
    const { json } = await station.gateway.admin("GET", `/accounts/${accountId}`);
    const taken = { amount: json.held - json.balance, reason: "test" };
    expect((await station.gateway.admin("POST", `/accounts/${accountId}/credits`, taken)).status).toBe(200);
    await isRefused(free, 402);
    await readsAndCancels(free, tasks);
  });

  test("whose budget is spent", async () => {
    const { keyWith, tasks } = await openAccount(100_000);
    const headers = await keyWith({ budget: 0.000001 });
    await isRefused(headers, 402);
    await readsAndCancels(headers, tasks);
    await isRefused(headers, 402);
  });
});
