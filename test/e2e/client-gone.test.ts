import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { endlessBody, gateAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient } from "../upstream/raw-client.ts";
import { startGateway, type TestGateway } from "../gateway/gateway.ts";

// A client that leaves stops the provider, and pays for what it had by then.

const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const body = {
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 64,
};

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({ openai: `${double.url}/v1` });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

/** Sends a request on a raw socket and gives the socket. */
async function post(request: object) {
  const client = await openRawClient(gateway.url);
  const text = JSON.stringify(request);
  client.send(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  return client;
}

async function spent(): Promise<number> {
  await gateway.settled();
  return 1_000_000 - (await gateway.account()).balance;
}

for (const how of ["close", "reset"] as const) {
  for (const stream of [false, true]) {
    test(`gone by ${how} before any answer (${stream ? "streamed" : "plain"}): upstream is stopped, the input is charged`, async () => {
      const before = await spent();
      double.handle(() => stallAt(chatAnswer({ usage: USAGE }), "start"));
      const client = await post({ ...body, stream });
      const request = await double.waitForRequest(1);
      client[how]();
      await double.waitForClientGone(request);
      const charge = (await spent()) - before;
      // About a dozen tokens of input at 0.002 credits each, and no output.
      expect(charge).toBeGreaterThan(0);
      expect(charge).toBeLessThan(0.05);
    });
  }

  test(`gone by ${how} in mid-stream: upstream is stopped, input and what was read are charged`, async () => {
    const before = await spent();
    const events = chatStream({
      words: ["one ", "two ", "three"],
      usage: { ...USAGE, completion_tokens: 500, total_tokens: 511 },
    });
    const gate = createGate();
    double.handle(() => gateAt(sseAnswer(events), afterEvent(events, 3), gate));
    const client = await post({ ...body, stream: true });
    await client.waitFor("two ");
    client[how]();
    await double.waitForClientGone(await double.waitForRequest(1));
    const charge = (await spent()) - before;
    expect(charge).toBeGreaterThan(0.02);
    expect(charge).toBeLessThan(0.1);
    gate.release();
  });
}

test("many that leave at once: every upstream is stopped, nothing stays held", async () => {
  double.handle(() => stallAt(sseAnswer(chatStream({ words: ["a"] })), "head-end"));
  const clients = await Promise.all(Array.from({ length: 100 }, () => post({ ...body, stream: true })));
  await double.waitForRequest(100);
  for (const client of clients) client.reset();
  await Promise.all(double.requests.map((request) => double.waitForClientGone(request)));
  await gateway.settled();
});

test("a client that reads nothing holds upstream back instead of filling our memory", async () => {
  const filler = new TextEncoder().encode(
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: "x".repeat(4000) }, finish_reason: null }] })}\n\n`,
  );
  double.handle(() => endlessBody(sseAnswer(filler), filler));
  const client = await post({ ...body, stream: true });
  const request = await double.waitForRequest(1);
  client.pause();
  let last = -1;
  // The double's count stands still once every buffer between us is full.
  while (request.answered.bytes !== last) {
    last = request.answered.bytes;
    await Bun.sleep(150);
  }
  expect(last).toBeLessThan(64 * 1024 * 1024);
  client.reset();
  await double.waitForClientGone(request);
  await gateway.settled();
});
