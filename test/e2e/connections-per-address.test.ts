import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";

// A gateway that lets one address have two requests under way, behind a proxy at 127.0.0.1.

const CLIENT = "198.51.100.1";
const MODELS = { openai: "openai/gpt-5.6-luna", anthropic: "anthropic/claude-haiku-4.5" };

let double: UpstreamDouble;
let gateway: TestGateway;
let clients: RawClient[] = [];

const start = (environment: Readonly<Record<string, string>>): Promise<TestGateway> =>
  startGateway({ openai: `${double.url}/v1`, environment });

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await start({ CONNECTIONS_PER_ADDRESS: "2", TRUSTED_PROXIES: "127.0.0.0/8" });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());
afterEach(async () => {
  for (const client of clients) client.reset();
  clients = [];
  while ((await ask()) !== 200) double.handle(() => chatAnswer());
});

const chat = (more: object = {}): string =>
  JSON.stringify({
    model: MODELS.openai,
    messages: [{ role: "user", content: "Hello." }],
    max_tokens: 9,
    ...more,
  });

/** Sends a request of `address` on a raw socket. */
async function post(body: string, address = CLIENT): Promise<RawClient> {
  const client = await openRawClient(gateway.url);
  clients.push(client);
  const framing = body === "" ? "transfer-encoding: chunked" : `content-length: ${body.length}`;
  client.send(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-forwarded-for: ${address}\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n${body}`,
  );
  return client;
}

/** Two requests of the address are at the provider. */
async function fill(more: object = {}): Promise<readonly RawClient[]> {
  const filling = [await post(chat(more)), await post(chat(more))];
  await double.waitForRequest(2);
  return filling;
}

/** The status that a small read of the address gets. */
async function ask(address = CLIENT, at = gateway): Promise<number> {
  const headers = { authorization: `Bearer ${at.key}`, "x-forwarded-for": address };
  const answer = await fetch(`${at.url}/api/v1/models`, { headers });
  await answer.bytes();
  return answer.status;
}

describe("beyond its two requests an address", () => {
  test("gets 503 with Retry-After in the shape of the format, which ends its connection; others are served", async () => {
    double.handle(() => stallAt(chatAnswer(), "start"));
    await fill();
    expect(await ask()).toBe(503);
    expect(await ask(`203.0.113.9, ${CLIENT}`)).toBe(503);
    expect(await ask("198.51.100.2")).toBe(200);
    const refused = await gateway.post("/api/v1/messages", chat({ model: MODELS.anthropic }), {
      headers: { "x-forwarded-for": CLIENT },
    });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    const { type, error } = (await refused.json()) as Json;
    expect([type, error.type]).toEqual(["error", "overloaded_error"]);
    const client = await post(chat());
    await client.ended();
    expect(new TextDecoder().decode(client.received())).toStartWith("HTTP/1.1 503");
  });

  test("still has health, files and the admin interface", async () => {
    double.handle(() => stallAt(chatAnswer(), "start"));
    await fill();
    const headers = { "x-forwarded-for": CLIENT, authorization: "Bearer adm-test-0123456789abcdef" };
    for (const path of ["/healthz", "/openapi.json", "/admin/v1/accounts"])
      expect((await fetch(gateway.url + path, { headers })).status).toBe(200);
  });
});

describe("a request is under way", () => {
  test("until its answer has come", async () => {
    const gate = createGate();
    double.handle(() => gateAt(chatAnswer(), "start", gate));
    const [client] = await fill();
    expect(await ask()).toBe(503);
    gate.release();
    await client?.waitFor("credit");
    expect(await ask()).toBe(200);
  });

  test("until its stream has ended", async () => {
    const gate = createGate();
    const body = chatStream();
    double.handle(() => gateAt(sseAnswer(body), afterEvent(body, 2), gate));
    const [one, other] = await fill({ stream: true });
    await one?.waitFor("Hello");
    await other?.waitFor("Hello");
    expect(await ask()).toBe(503);
    gate.release();
    await one?.waitFor("[DONE]");
    while ((await ask()) === 503);
  });

  for (const stream of [false, true])
    test(`until its client has left (${stream ? "streamed" : "plain"})`, async () => {
      const body = chatStream();
      double.handle(() =>
        stream ? stallAt(sseAnswer(body), afterEvent(body, 2)) : stallAt(chatAnswer(), "start"),
      );
      const [client] = await fill({ stream });
      expect(await ask()).toBe(503);
      client?.reset();
      while ((await ask()) === 503);
      expect(await ask()).toBe(200);
    });

  test("until a large plain answer is written", async () => {
    double.handle(() => chatAnswer({ words: ["x".repeat(20_000_000)] }));
    const stalled = await fill();
    for (const client of stalled) {
      await client.waitFor("200 OK");
      client.pause();
    }
    expect(await ask()).toBe(503);
    stalled[0]?.resume();
    await stalled[0]?.waitFor("credit");
    while ((await ask()) === 503);
  });

  test("while its body comes", async () => {
    const [client] = [await post(""), await post("")];
    while ((await ask()) === 200);
    expect(await ask()).toBe(503);
    client?.reset();
    while ((await ask()) === 503);
  });

  test("and no longer when it was refused", async () => {
    for (let i = 0; i < 5; i += 1) {
      expect((await gateway.chat("{", { headers: { "x-forwarded-for": CLIENT } })).status).toBe(400);
      const headers = { "x-forwarded-for": CLIENT, authorization: "Bearer none" };
      expect((await gateway.chat(chat(), { headers })).status).toBe(401);
    }
    expect(await ask()).toBe(200);
  });
});

test("without trusted proxies nobody is believed who he speaks for; without the setting nobody is counted", async () => {
  double.handle(() => stallAt(chatAnswer(), "start"));
  for (const [environment, status] of [
    [{ CONNECTIONS_PER_ADDRESS: "2" }, 503],
    [{ TRUSTED_PROXIES: "127.0.0.1" }, 200],
  ] as const) {
    const other = await start(environment);
    const cut = new AbortController();
    const { signal } = cut;
    const sent = ["198.51.100.1", "198.51.100.2"].map((address) =>
      other.chat(chat(), { signal, headers: { "x-forwarded-for": address } }).catch(() => undefined),
    );
    await double.waitForRequest(2);
    expect(await ask("198.51.100.3", other)).toBe(status);
    cut.abort();
    await Promise.all(sent);
    await other.close();
    double.reset();
    double.handle(() => stallAt(chatAnswer(), "start"));
  }
});
