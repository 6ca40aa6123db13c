import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { endlessBody, gateAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { startDashscopeDouble } from "../upstream/media/dashscope-double.ts";
import { environmentOf } from "../upstream/media/doubles.ts";
import { openRawClient } from "../upstream/raw-client.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, streamEvents, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";

// Every limit on time, by a clock that only the test moves.

const body = {
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user", content: "Say hello." }],
  max_tokens: 64,
};
const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });

let clock: FakeClock;
let double: UpstreamDouble;
let gateway: TestGateway;

beforeEach(async () => {
  clock = createFakeClock();
  double = await startUpstreamDouble();
  gateway = await startGateway({ openai: `${double.url}/v1`, clock });
});
afterEach(async () => {
  await gateway.close();
  await double.close();
});

test("a plain answer that does not come is a 504 at its limit, and free", async () => {
  double.handle(() => stallAt(chatAnswer({ usage: USAGE }), "start"));
  const answer = gateway.chat(body);
  await double.waitForRequest(1);
  await clock.advance(600_000);
  expect((await answer).status).toBe(504);
  await gateway.settled();
  expect((await gateway.account()).balance).toBe(1_000_000);
});

for (const [kind, path, asked, limitMs] of [
  ["embeddings", "/api/v1/embeddings", { model: "openai/text-embedding-3-small", input: "Hi" }, 20_000],
  ["an image", "/api/v1/images/generations", { model: "openai/gpt-image-2", prompt: "Fox." }, 40_000],
] as const)
  test(`an answer that does not come has the limit of its kind of model: ${kind}`, async () => {
    const settings = JSON.stringify({
      // A lease that runs out while time jumps would be lost.
      tasks: { lease_seconds: 3600 },
      timeouts: { plain_seconds: 30, embedding: { plain_seconds: 20 }, image: { plain_seconds: 40 } },
    });
    const other = await startGateway({ openai: `${double.url}/v1`, clock, settings });
    double.handle(() => stallAt(jsonAnswer(200, {}), "start"));
    let isOver = false;
    const asking = other.post(path, asked).finally(() => (isOver = true));
    const request = await double.waitForRequest(1);
    await clock.advance(limitMs - 1_000);
    await Bun.sleep(20);
    expect([isOver, request.outcome]).toEqual([false, "stalled"]);
    await clock.advance(1_000);
    await double.waitForClientGone(request);
    // A task's end is told when it is written down.
    for (; !isOver; await Bun.sleep(5)) await clock.advance(100);
    const response = await asking;
    const { error }: Json = await response.json();
    expect([response.status, error.type]).toEqual([504, "timeout_error"]);
    await other.settled();
    expect((await other.account()).balance).toBe(1_000_000);
    await other.close();
  });

test("the request that begins a video has the limit of videos, and its job afterwards that of the task alone", async () => {
  const maker = await startDashscopeDouble(UPSTREAM_KEY);
  const settings = JSON.stringify({
    tasks: { lease_seconds: 3600 },
    timeouts: { plain_seconds: 30, image: { plain_seconds: 40 }, video: { plain_seconds: 50 } },
  });
  const environment = environmentOf("dashscope", maker, UPSTREAM_KEY);
  const other = await startGateway({ clock, environment, settings });
  const asked = { model: "alibaba/wan-2.6", prompt: "Waves." };
  const begin = async (): Promise<() => Promise<Json>> => {
    const { polling_url }: Json = await (await other.post("/api/v1/videos", asked)).json();
    const headers = { authorization: `Bearer ${other.key}` };
    return async () => (await fetch(other.url + polling_url, { headers })).json();
  };

  maker.fault("video", { after: (answer) => stallAt(answer, "start") });
  const silent = await begin();
  const request = await maker.upstream.waitForRequest(1);
  await clock.advance(49_000);
  await Bun.sleep(20);
  expect([request.outcome, (await silent()).status]).toEqual(["stalled", "running"]);
  await clock.advance(1_000);
  await maker.upstream.waitForClientGone(request);
  for (let task = await silent(); task.status !== "failed"; task = await silent()) await clock.advance(100);
  await other.settled();
  expect((await other.account()).balance).toBe(1_000_000);

  maker.script({ runningPolls: 1_000 });
  const working = await begin();
  while (maker.accepted.length < 2) await Bun.sleep(5);
  for (let i = 0; i < 120; i += 1) await clock.advance(1_000);
  expect((await working()).status).toBe("running");
  await other.close();
  await maker.close();
});

test("a stream that is slow to begin is kept open from 15 s on, and then answers", async () => {
  const gate = createGate();
  double.handle(() => gateAt(sseAnswer(events), "start", gate));
  const waiting = gateway.chat({ ...body, stream: true });
  await double.waitForRequest(1);
  await clock.advance(15_000);
  const response = await waiting;
  expect(response.status).toBe(200);
  await clock.advance(45_000);
  gate.release();
  const text = await response.text();
  expect(text.split("\n\n").filter((line) => line === ": keep-alive").length).toBeGreaterThanOrEqual(3);
  const all = streamEvents(text);
  expect(all.at(-1)).toBe("[DONE]");
  expect(all.at(-2).credit).toBe(0.07);
});

test("a refusal after the 200 was committed is told inside the stream, and free", async () => {
  const gate = createGate();
  double.handle(() =>
    gateAt(
      { status: 500, headers: [["content-type", "application/json"]], body: new TextEncoder().encode("{}") },
      "start",
      gate,
    ),
  );
  const waiting = gateway.chat({ ...body, stream: true });
  await double.waitForRequest(1);
  await clock.advance(15_000);
  const response = await waiting;
  gate.release();
  const all = streamEvents(await response.text());
  expect(all.at(-2).error.type).toBe("upstream_error");
  expect(all.at(-3).credit).toBe(0);
  await gateway.settled();
  expect((await gateway.account()).balance).toBe(1_000_000);
});

const silent = [
  { name: "never begins", at: "start" as const, afterMs: 120_000, free: true },
  { name: "goes silent in the middle", at: afterEvent(events, 2), afterMs: 75_000, free: false },
];
for (const { name, at, afterMs, free } of silent) {
  test(`a stream that ${name} ends as a timeout that says so`, async () => {
    double.handle(() => stallAt(sseAnswer(events), at));
    const waiting = gateway.chat({ ...body, stream: true });
    const request = await double.waitForRequest(1);
    if (free) await clock.advance(15_000);
    const response = await waiting;
    const reading = response.text();
    await clock.advance(afterMs);
    const all = streamEvents(await reading);
    expect(all.at(-2).error.type).toBe("timeout_error");
    expect(all.at(-3).credit > 0).toBe(!free);
    await double.waitForClientGone(request);
    await gateway.settled();
  });
}

describe("two attempts have the time of one request", () => {
  let other: TestGateway;
  let second: UpstreamDouble;
  beforeEach(async () => {
    second = await startUpstreamDouble();
    const provider = (server: UpstreamDouble, models: readonly object[]) => ({
      base_url: `${server.url}/v1`,
      api_key: "sk-0123456789",
      models,
    });
    const model = { id: "t/m", upstream_id: "m", max_output: 100, prices: { input: 1, output: 2 } };
    const settings = {
      providers: { one: provider(double, [model]), two: provider(second, [{ ...model, id: "t/other" }]) },
      routing: {
        models: { "t/m": { routes: [{ provider: "one" }, { provider: "two", upstream_id: "m" }] } },
      },
      timeouts: { first_byte_seconds: 120, idle_seconds: 550, content_idle_seconds: 550 },
    };
    other = await startGateway({ settings: JSON.stringify(settings), clock });
  });
  afterEach(async () => {
    await other.close();
    await second.close();
  });

  const plain = (): Answer => stallAt(chatAnswer({ usage: USAGE }), "start");
  const cases = [
    { name: "a plain answer", stream: false, faultMs: 400_000, limitMs: 600_000, stalled: plain },
    {
      name: "the first byte of a stream",
      stream: true,
      faultMs: 80_000,
      limitMs: 120_000,
      stalled: () => stallAt(sseAnswer(events), "start"),
    },
    {
      name: "a whole stream",
      stream: true,
      faultMs: 100_000,
      limitMs: 600_000,
      stalled: () => stallAt(sseAnswer(events), afterEvent(events, 2)),
    },
  ] as const;
  for (const { name, stream, faultMs, limitMs, stalled } of cases)
    test(`${name} has its limit from the first of them on, which a fault ended`, async () => {
      const { promise, resolve } = Promise.withResolvers<Answer>();
      double.handle(() => promise);
      second.handle(stalled);
      let isOver = false;
      let text = "";
      const asked = other.chat({ ...body, model: "t/m", stream }).then(async (response) => {
        const decoder = new TextDecoder();
        for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true });
        isOver = true;
        return response.status;
      });
      await double.waitForRequest(1);
      await clock.advance(faultMs);
      resolve(jsonAnswer(503, {}));
      const request = await second.waitForRequest(1);
      // A first byte that the gateway has not read yet would have its own limit.
      while (name === "a whole stream" && !text.includes("Hel")) await Bun.sleep(5);
      await clock.advance(limitMs - faultMs - 5_000);
      await Bun.sleep(20);
      expect(isOver).toBe(false);
      await clock.advance(5_000);
      expect(await asked).toBe(stream ? 200 : 504);
      expect(text).toContain('"timeout_error"');
      await second.waitForClientGone(request);
      await other.settled();
      const [row] = (await other.admin("GET", "/requests?limit=1")).json.data;
      expect([row.outcome, row.attempts.length, row.credit > 0]).toEqual([
        "timeout_error",
        2,
        name === "a whole stream",
      ]);
      const sent = row.attempts.map(({ status }: Json) => status);
      expect(sent[0]).toBe(503);
      expect((await other.admin("GET", "/audit")).json.ok).toBe(true);
      expect((await other.admin("GET", "/accounts")).json.data.map(({ held }: Json) => held)).toEqual([0]);
    });
});

test("a client that takes nothing for a minute is left behind: upstream is stopped, its connection ends unfinished", async () => {
  const filler = new TextEncoder().encode(
    `data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta: { content: "x".repeat(60_000) }, finish_reason: null }] })}\n\n`,
  );
  double.handle(() => endlessBody(sseAnswer(filler), filler));
  const client = await openRawClient(gateway.url);
  const text = JSON.stringify({ ...body, stream: true });
  client.pause();
  client.send(
    `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
  );
  const request = await double.waitForRequest(1);
  let last = -1;
  while (request.answered.bytes !== last || last === 0) {
    last = request.answered.bytes;
    await Bun.sleep(150);
  }
  await clock.advance(70_000);
  await double.waitForClientGone(request);
  client.resume();
  await client.ended();
  const received = new TextDecoder().decode(client.received());
  expect(received).not.toContain("[DONE]");
  // Without the last chunk no client takes the answer for whole.
  expect(received).not.toEndWith("\r\n0\r\n\r\n");
  await gateway.settled();
});

test("a revoked key is refused at once, and one that has expired at its second", async () => {
  double.handle(() => chatAnswer({ usage: USAGE }));
  expect((await gateway.chat(body)).status).toBe(200);
  await gateway.admin("DELETE", `/keys/${gateway.keyId}`);
  expect((await gateway.chat(body)).status).toBe(401);
  const expires = Math.floor(clock.nowMs() / 1000) + 2;
  const { json } = await gateway.admin("POST", "/keys", {
    account_id: gateway.accountId,
    name: "short",
    expires_at: expires,
  });
  const headers = { authorization: `Bearer ${json.key}` };
  expect((await gateway.chat(body, { headers })).status).toBe(200);
  await clock.advance(2_000);
  expect((await gateway.chat(body, { headers })).status).toBe(401);
});
