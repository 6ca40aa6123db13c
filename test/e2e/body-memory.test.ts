import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { ADMIN_TOKEN, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, resetAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, type RawClient } from "../upstream/raw-client.ts";

// Bodies take their share of one budget before they are read. It is small here: a body of 2 MiB takes all of it.

const MIB = 1024 * 1024;
const ALL = 2 * MIB;
const HALF = MIB;
const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

let double: UpstreamDouble;
let gateway: TestGateway;
let poor: string;
let second: string;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    anthropic: double.url,
    settings: "memory: { bodies_mib: 16 }\n",
    credits: 1_000_000_000,
  });
  const keyOf = async (account: string): Promise<string> =>
    (await gateway.admin("POST", "/keys", { account_id: account, name: "more" })).json.key;
  second = await keyOf(gateway.accountId);
  poor = await keyOf((await gateway.admin("POST", "/accounts", { name: "poor" })).json.id);
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => {
  double.reset();
  double.handle(() => chatAnswer({ usage: USAGE }));
});

/** A chat request of so many bytes. */
function chatBody(bytes: number, more: object = {}): string {
  const text = (padding: string): string =>
    JSON.stringify({
      model: "openai/gpt-5.6-luna",
      messages: [{ role: "user", content: `Hello.${padding}` }],
      max_tokens: 64,
      ...more,
    });
  return text("x".repeat(bytes - text("").length));
}

/** Sends the head of a request, and as much of the body as is given. Resolves once the gateway has seen it. */
async function begin(length: number | "chunked", body = "", key = gateway.key): Promise<RawClient> {
  const client = await openRawClient(gateway.url);
  const framing = length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`;
  client.send(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${framing}\r\n\r\n${body}`,
  );
  await gateway.admin("GET", "/accounts");
  return client;
}

const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`;

/** Waits until the metrics say that bodies hold so much. */
async function bodyBytes(is: (bytes: number) => boolean): Promise<void> {
  for (;;) {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const text = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
    if (is(Number(/^switchyard_body_bytes (\d+)/m.exec(text)?.[1]))) return;
    await Bun.sleep(5);
  }
}

async function expectRoom(): Promise<void> {
  expect((await gateway.chat(chatBody(ALL))).status).toBe(200);
}

describe("a body that is still to come", () => {
  test("has its memory: another is told to come again before it has sent anything", async () => {
    await expectRoom();
    const first = await begin(ALL);
    const other = await begin(HALF);
    const answer = await other.waitFor("\r\n\r\n{");
    expect(answer).toStartWith("HTTP/1.1 503");
    expect(answer).toMatch(/retry-after: [1-5]\r\n/i);
    expect(answer).toContain('"type":"overloaded_error"');
    first.send(chatBody(ALL));
    expect(await first.waitFor("\r\n\r\n")).toStartWith("HTTP/1.1 200");
    await expectRoom();
    first.close();
    other.close();
  });

  test("has its memory: the store is not asked what another may spend for whom there is none", async () => {
    const first = await begin(ALL);
    const other = await begin(ALL - 1, "", poor);
    expect(await other.waitFor("\r\n\r\n{")).toStartWith("HTTP/1.1 503");
    first.send(chatBody(ALL));
    expect(await first.waitFor("\r\n\r\n")).toStartWith("HTTP/1.1 200");
    first.close();
    other.close();
  });

  test("leaves room for other keys, however much its own one asks for", async () => {
    const first = await begin(HALF);
    const again = await begin(HALF);
    expect(await again.waitFor("\r\n\r\n")).toStartWith("HTTP/1.1 503");
    const other = await gateway.chat(chatBody(HALF / 2), { headers: { authorization: `Bearer ${second}` } });
    expect(other.status).toBe(200);
    first.close();
    again.close();
  });

  test("in chunks takes what has come, and is refused when no more fits", async () => {
    const first = await begin("chunked", chunk(HALF));
    const other = await begin("chunked", chunk(HALF / 4), second);
    expect(other.received().length).toBe(0);
    for (let i = 0; i < 4; i += 1) other.send(chunk(HALF / 4));
    const answer = await other.waitFor("\r\n\r\n");
    expect(answer).toStartWith("HTTP/1.1 503");
    await other.ended();
    first.close();
  });

  test("gives its memory back when its client leaves", async () => {
    for (const length of [ALL, "chunked"] as const) {
      const client = await begin(length, length === ALL ? "" : chunk(ALL - 100));
      client.reset();
      while ((await gateway.chat(chatBody(ALL))).status !== 200);
    }
  });
});

test("events without content take their length of it until their client leaves, or has the answer", async () => {
  const empty = `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: {} }], pad: "x".repeat(MIB) })}\n\n`;
  const events = empty.repeat(10) + new TextDecoder().decode(chatStream({ words: ["one"], usage: USAGE }));
  const gate = createGate();
  const body = new TextEncoder().encode(events);
  for (const isLeft of [true, false]) {
    double.handle(() => gateAt(sseAnswer(body), 10 * empty.length, gate));
    const client = await begin(1_000, chatBody(1_000, { stream: true }));
    await bodyBytes((bytes) => bytes >= 10 * MIB);
    double.handle(() => chatAnswer({ usage: USAGE }));
    expect(
      (await gateway.chat(chatBody(ALL), { headers: { authorization: `Bearer ${second}` } })).status,
    ).toBe(503);
    if (isLeft) client.close();
    else {
      gate.release();
      await client.waitFor("one");
    }
    await bodyBytes((bytes) => bytes === 0);
    await expectRoom();
    client.close();
  }
});

describe("nothing is held any more", () => {
  const bodies: readonly { readonly name: string; readonly body: string; readonly status: number }[] = [
    { name: "after an answer", body: chatBody(ALL), status: 200 },
    { name: "after a stream", body: chatBody(ALL, { stream: true }), status: 200 },
    { name: "after a stream for a small body", body: chatBody(1_000, { stream: true }), status: 200 },
    { name: "after what is no JSON", body: `{${"x".repeat(ALL - 1)}`, status: 400 },
    { name: "after an unknown model", body: chatBody(ALL, { model: "openai/none" }), status: 400 },
  ];
  for (const { name, body, status } of bodies)
    test(name, async () => {
      double.handle(() =>
        body.includes('"stream":true')
          ? sseAnswer(chatStream({ words: ["a"], usage: USAGE }))
          : chatAnswer({ usage: USAGE }),
      );
      const response = await gateway.chat(body);
      await response.text();
      expect(response.status).toBe(status);
      double.handle(() => chatAnswer({ usage: USAGE }));
      await expectRoom();
    });

  test("after a request that its account cannot pay", async () => {
    const headers = { authorization: `Bearer ${poor}` };
    expect((await gateway.chat(chatBody(ALL), { headers })).status).toBe(402);
    await expectRoom();
  });

  for (const [name, answer] of [
    ["an error of the provider", jsonAnswer(500, {})],
    ["a provider that breaks off", resetAt(chatAnswer({ usage: USAGE }), "head-end")],
  ] as const)
    test(`after ${name}`, async () => {
      double.handle(() => answer);
      expect((await gateway.chat(chatBody(ALL))).status).toBe(502);
      double.handle(() => chatAnswer({ usage: USAGE }));
      await expectRoom();
    });

  test("once the provider has all of it, while its answer is waited for", async () => {
    double.handle(() => stallAt(chatAnswer({ usage: USAGE }), "start"));
    const client = await begin(ALL, chatBody(ALL));
    const request = await double.waitForRequest(1);
    double.handle(() => chatAnswer({ usage: USAGE }));
    await expectRoom();
    client.close();
    await double.waitForClientGone(request);
  });

  test("while a stream goes on", async () => {
    const events = chatStream({ words: ["one", "two"], usage: USAGE });
    double.handle(() => stallAt(sseAnswer(events), afterEvent(events, 2)));
    const client = await begin(ALL, chatBody(ALL, { stream: true }));
    await client.waitFor("one");
    double.handle(() => chatAnswer({ usage: USAGE }));
    await expectRoom();
    client.close();
    await gateway.settled();
  });

  test("after a request for images or a video is queued, or is none", async () => {
    for (const [path, more, status] of [
      ["/api/v1/images/generations", { model: "openai/gpt-image-2", async: true }, 202],
      ["/api/v1/images/generations", { model: "openai/none" }, 400],
      ["/api/v1/videos", { model: "openai/none" }, 400],
    ] as const) {
      const response = await gateway.post(path, {
        prompt: "A cat.",
        ...more,
        unknown: "x".repeat(ALL - 200),
      });
      await response.text();
      expect([path, response.status]).toEqual([path, status]);
      await expectRoom();
    }
  });

  test("after a body of the admin interface", async () => {
    expect((await gateway.admin("POST", "/accounts", { name: "x".repeat(ALL - 100) })).status).toBe(400);
    expect((await gateway.admin("POST", "/accounts", { name: "y" })).status).toBe(201);
    await expectRoom();
  });
});
