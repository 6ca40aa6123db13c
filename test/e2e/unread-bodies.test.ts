import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";

// Above 1 MiB a 429 and a 402 come before the body: these clients send none of it, or a part.

const MIB = 1024 * 1024;

let double: UpstreamDouble;
let gateway: TestGateway;
/** A gateway that has a free model, too. */
let generous: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const sandbox = { environment: { SWITCHYARD_SANDBOX: "on" } };
  const openai = `${double.url}/v1`;
  gateway = await startGateway({ ...sandbox, openai });
  const free = `{ base_url: ${openai}, models: [{ id: local/free, prices: { input: 0, output: 0 } }] }`;
  generous = await startGateway({ ...sandbox, openai, settings: `providers: { local: ${free} }\n` });
});
afterAll(async () => {
  await gateway.close();
  await generous.close();
  await double.close();
});
beforeEach(() => {
  double.reset();
  double.handle(() => chatAnswer());
});

async function newKey(at: TestGateway, credits: number, more: object = {}): Promise<string> {
  const { json: account } = await at.admin("POST", "/accounts", { name: "another" });
  if (credits > 0)
    await at.admin("POST", `/accounts/${account.id}/credits`, { amount: credits, reason: "test" });
  return (await at.admin("POST", "/keys", { account_id: account.id, name: "another", ...more })).json.key;
}

/** Sends a head, and resolves once the gateway has dealt with it. */
async function sendHead(at: TestGateway, path: string, key: string, length?: number): Promise<RawClient> {
  const client = await openRawClient(at.url);
  const framing = length === undefined ? "transfer-encoding: chunked" : `content-length: ${length}`;
  client.send(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`,
  );
  for (let i = 0; i < 3; i += 1) await at.admin("GET", "/accounts");
  return client;
}

/** The status that a head alone is answered with. */
async function refusedWith(...head: Parameters<typeof sendHead>): Promise<number> {
  const client = await sendHead(...head);
  const answer = await client.waitFor("\r\n\r\n");
  client.reset();
  return Number(answer.slice(9, 12));
}

/** Whether the body is waited for. */
async function isLetIn(...head: Parameters<typeof sendHead>): Promise<boolean> {
  const client = await sendHead(...head);
  const isSilent = client.received().length === 0;
  client.reset();
  return isSilent;
}

const CHAT = "/api/v1/chat/completions";
const PATHS = [
  CHAT,
  "/api/v1/messages",
  "/api/v1/models/google/gemini-3.8-flash:generateContent",
  "/api/v1/models/google/gemini-3.8-flash:streamGenerateContent",
  "/api/v1/images/generations",
  "/api/v1/videos",
];

describe("with nothing to spend", () => {
  for (const path of PATHS)
    test(`${path} is a 402 before a body above 1 MiB, and no sooner`, async () => {
      const key = await newKey(gateway, 0);
      expect(await refusedWith(gateway, path, key, MIB + 1)).toBe(402);
      expect(await isLetIn(gateway, path, key, MIB)).toBe(true);
    });

  test("it is one once more than 1 MiB of a body in chunks has come", async () => {
    const client = await sendHead(gateway, CHAT, await newKey(gateway, 0));
    client.send(`${MIB.toString(16)}\r\n${"x".repeat(MIB)}\r\n`);
    await gateway.admin("GET", "/accounts");
    expect(client.received().length).toBe(0);
    client.send("1\r\nx\r\n");
    const answer = await client.waitFor("\r\n\r\n");
    expect(answer).toStartWith("HTTP/1.1 402");
    client.reset();
  });

  test("a budget that leaves nothing is one, too", async () => {
    const key = await newKey(gateway, 1_000, { budget: 0.01 });
    const { json: keys } = await gateway.admin("GET", "/keys");
    const { id } = keys.data.at(-1);
    expect(await isLetIn(gateway, CHAT, key, MIB + 1)).toBe(true);
    await gateway.admin("PATCH", `/keys/${id}`, { budget: 0 });
    expect(await refusedWith(gateway, CHAT, key, MIB + 1)).toBe(402);
  });

  test("a body is read where it could name a model that costs nothing", async () => {
    const key = await newKey(generous, 0);
    expect(await isLetIn(generous, CHAT, key, MIB + 1)).toBe(true);
    const generate = (model: string): string => `/api/v1/models/${model}:generateContent`;
    expect(await isLetIn(generous, generate("local/free"), key, MIB + 1)).toBe(true);
    expect(await refusedWith(generous, generate("google/gemini-3.8-flash"), key, MIB + 1)).toBe(402);
    expect(await refusedWith(generous, "/api/v1/images/generations", key, MIB + 1)).toBe(402);
    const bound = await newKey(generous, 0, { models: ["openai/gpt-5.6-luna"] });
    expect(await refusedWith(generous, CHAT, bound, MIB + 1)).toBe(402);
    const text = "x".repeat(MIB);
    const body = JSON.stringify({ model: "local/free", messages: [{ role: "user", content: text }] });
    const answer = await generous.post(CHAT, body, { headers: { authorization: `Bearer ${key}` } });
    expect(answer.status).toBe(200);
  });

  test("tokens are counted all the same", async () => {
    const headers = { authorization: `Bearer ${await newKey(gateway, 0)}` };
    const body = {
      model: "anthropic/claude-haiku-4.5",
      messages: [{ role: "user", content: "x".repeat(MIB) }],
    };
    expect((await gateway.post("/api/v1/messages/count_tokens", body, { headers })).status).toBe(200);
  });
});

describe("a key that is at its limit", () => {
  for (const path of PATHS)
    test(`is refused at ${path} before a body above 1 MiB, and no sooner`, async () => {
      const key = await newKey(gateway, 100_000, { limits: { requests_per_minute: 1 } });
      const headers = { authorization: `Bearer ${key}` };
      const hello = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Hello." }] };
      expect((await gateway.chat(hello, { headers })).status).toBe(200);
      const client = await sendHead(gateway, path, key, MIB + 1);
      const answer = await client.waitFor("\r\n\r\n");
      expect(answer).toStartWith(path.endsWith("videos") ? "HTTP/1.1 503" : "HTTP/1.1 429");
      expect(answer).toMatch(/retry-after: \d+\r\n/i);
      client.reset();
      expect(await isLetIn(gateway, path, key, MIB)).toBe(true);
    });

  test("is not counted for a look: as many large requests are let in as it may have", async () => {
    const key = await newKey(gateway, 1_000_000, { limits: { requests_per_minute: 2 } });
    const large = {
      model: "openai/gpt-5.6-luna",
      messages: [{ role: "user", content: "x".repeat(MIB) }],
      max_tokens: 9,
    };
    const statuses: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const headers = { authorization: `Bearer ${key}` };
      statuses.push((await gateway.chat(large, { headers })).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  test("is told of that before it is told that it cannot pay", async () => {
    const key = await newKey(gateway, 0, { limits: { concurrency: 1, requests_per_minute: 1 } });
    const headers = { authorization: `Bearer ${key}` };
    const hello = { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Hello." }] };
    expect((await gateway.chat(hello, { headers })).status).toBe(402);
    expect(await refusedWith(gateway, CHAT, key, MIB + 1)).toBe(429);
  });
});
