import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { heapSize } from "bun:jsc";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble } from "../upstream/double.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, streamEvents, type TestGateway } from "../gateway/gateway.ts";

// Answers and failures to order, by the header `x-sandbox`.

const GPT = "openai/gpt-5.6-luna";
const HAIKU = "anthropic/claude-haiku-4.5";
const FLASH = "google/gemini-3.8-flash";
const messages = [{ role: "user" as const, content: "Say hello." }];

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());

const ordered = (orders: string, body: object = {}): Promise<Response> =>
  gateway.chat({ model: GPT, messages, ...body }, { headers: { "x-sandbox": orders } });

/** How often the SDK asked: a call that is refused is made again. */
async function triesOf(call: (fetching: typeof fetch) => Promise<unknown>): Promise<[number, Json]> {
  let tries = 0;
  const counted = (...args: Parameters<typeof fetch>): Promise<Response> => {
    tries += 1;
    return fetch(...args);
  };
  const error = await call(Object.assign(counted, { preconnect: fetch.preconnect })).catch(
    (cause: unknown) => cause,
  );
  return [tries, error];
}

const FAILURES = [
  { fail: "rate_limit", status: 429, type: "rate_limit_error", tries: 2 },
  { fail: "overloaded", status: 503, type: "overloaded_error", tries: 2 },
  { fail: "timeout", status: 504, type: "timeout_error", tries: 2 },
  { fail: "moderation", status: 400, type: "content_moderation", tries: 1 },
];

describe("a failure to order reaches each SDK as what it is, is tried again where that helps, and costs nothing", () => {
  for (const { fail, status, type, tries } of FAILURES) {
    test(
      fail,
      async () => {
        const before = (await gateway.account()).balance;
        const orders = { "x-sandbox": `fail=${fail}` };
        const [asked, error] = await triesOf((fetching) =>
          new OpenAI({
            baseURL: `${gateway.url}/api/v1`,
            apiKey: gateway.key,
            maxRetries: 1,
            defaultHeaders: orders,
            fetch: fetching,
          }).chat.completions.create({ model: GPT, messages }),
        );
        expect([asked, error.status, error.type]).toEqual([tries, status, type]);
        const [again, refused] = await triesOf((fetching) =>
          new Anthropic({
            baseURL: `${gateway.url}/api`,
            apiKey: gateway.key,
            maxRetries: 1,
            defaultHeaders: orders,
            fetch: fetching,
          }).messages.create({ model: HAIKU, max_tokens: 50, messages }),
        );
        expect([again, refused.status, refused.error.error.type]).toEqual([tries, status, type]);
        const [more, cause] = await triesOf((fetching) =>
          new GoogleGenAI({
            apiKey: gateway.key,
            httpOptions: {
              baseUrl: `${gateway.url}/api`,
              headers: orders,
              retryOptions: { attempts: 2, initialDelay: 0.01 },
              fetch: fetching,
            },
          }).models.generateContent({ model: FLASH, contents: "x" }),
        );
        expect([more, cause.status]).toEqual([tries, status]);
        await gateway.settled();
        expect((await gateway.account()).balance).toBe(before);
      },
      20_000,
    );
  }
});

test("an order is named in the header of the answer, refused too", async () => {
  for (const orders of ["tokens=5", "fail=overloaded", "nonsense"])
    expect((await ordered(orders)).headers.get("x-switchyard-provider")).toBe("sandbox");
});

test("what the header does not know is a 400 that names it, in each format", async () => {
  const paths: readonly (readonly [string, object])[] = [
    ["/api/v1/chat/completions", { model: GPT, messages }],
    ["/api/v1/messages", { model: HAIKU, max_tokens: 9, messages }],
    [`/api/v1/models/${FLASH}:generateContent`, { contents: [{ parts: [{ text: "x" }] }] }],
  ];
  for (const [path, body] of paths) {
    const response = await gateway.post(path, body, { headers: { "x-sandbox": "fails=never" } });
    const { error }: Json = await response.json();
    expect(response.status).toBe(400);
    // This format's errors name no field.
    if (error.code !== 400) expect(error.param).toBe("x-sandbox");
    expect(error.message).toContain("x-sandbox");
  }
});

test("an answer is as long as it is ordered, and no longer than the request's own bound", async () => {
  expect(((await (await ordered("tokens=300")).json()) as Json).usage.completion_tokens).toBe(300);
  const bound: Json = await (await ordered("tokens=300", { max_tokens: 20 })).json();
  expect([bound.usage.completion_tokens, bound.choices[0].finish_reason]).toEqual([20, "length"]);
});

test("a stream that is reset ends as a broken one does, in each format; a plain answer is a 502", async () => {
  const orders = { headers: { "x-sandbox": "fail=reset_mid_stream" } };
  expect((await ordered("fail=reset_mid_stream")).status).toBe(502);
  const chat = streamEvents(await (await ordered("fail=reset_mid_stream", { stream: true })).text());
  expect(chat.at(-1)).toBe("[DONE]");
  expect(chat.at(-2).error.type).toBe("upstream_error");
  const blocks = await gateway.post(
    "/api/v1/messages",
    { model: HAIKU, max_tokens: 500, messages, stream: true },
    orders,
  );
  const text = await blocks.text();
  expect(text).toContain("event: error");
  expect(text).not.toContain("message_stop");
  const parts = await gateway.post(
    `/api/v1/models/${FLASH}:streamGenerateContent`,
    { contents: [{ parts: [{ text: "x" }] }] },
    orders,
  );
  expect(await parts.text()).toMatch(/data: \{"error":.*\n\n$/);
  await gateway.settled();
});

test("a client that leaves stops the sandbox, and pays for what it saw by then", async () => {
  const before = (await gateway.account()).balance;
  const leaving = new AbortController();
  // A hundred thousand tokens at ten a second: it would take hours.
  const response = await gateway.chat(
    { model: GPT, messages, stream: true },
    { headers: { "x-sandbox": "tokens=100000; speed=10" }, signal: leaving.signal },
  );
  const reader = response.body!.getReader();
  await reader.read();
  leaving.abort();
  await gateway.settled();
  const paid = before - (await gateway.account()).balance;
  expect(paid).toBeGreaterThan(0);
  expect(paid).toBeLessThan(1);
});

describe("by the clock", () => {
  let clock: FakeClock;
  let timed: TestGateway;
  beforeAll(async () => {
    clock = createFakeClock();
    timed = await startGateway({ clock });
  });
  afterAll(() => timed.close());

  /** Moves time on until the promise has settled; gives how far that was. */
  async function elapsed(pending: Promise<unknown>): Promise<number> {
    let done = false;
    void pending.finally(() => (done = true));
    const from = clock.nowMs();
    for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
    while (!done) {
      await clock.advance(100);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return clock.nowMs() - from;
  }

  test("an answer comes no earlier than its delay", async () => {
    const answer = timed.chat({ model: GPT, messages }, { headers: { "x-sandbox": "delay_ms=5000" } });
    expect(await elapsed(answer)).toBeGreaterThanOrEqual(5_000);
    expect((await answer).status).toBe(200);
  });

  test("a stream goes no faster than its speed", async () => {
    const whole = timed
      .chat({ model: GPT, messages, stream: true }, { headers: { "x-sandbox": "tokens=100; speed=20" } })
      .then((response) => response.text());
    expect(await elapsed(whole)).toBeGreaterThanOrEqual(4_900);
    expect(streamEvents(await whole).at(-1)).toBe("[DONE]");
  });
});

test("where a provider serves the request the header is ignored and goes nowhere", async () => {
  const double = await startUpstreamDouble();
  let seen: string | null | undefined;
  double.handle((request) => {
    seen = JSON.stringify(request).toLowerCase();
    return chatAnswer({ words: ["Hello."] });
  });
  const live = await startGateway({ openai: `${double.url}/v1` });
  const response = await live.chat(
    { model: GPT, messages },
    { headers: { "x-sandbox": "fail=overloaded; x=1" } },
  );
  expect([response.status, response.headers.get("x-switchyard-provider")]).toEqual([200, null]);
  expect(seen).not.toContain("x-sandbox");
  await live.close();
  await double.close();
});

test("events of a very long answer are made as they are read, so that the longest does not fill the memory", async () => {
  const before = heapSize();
  const response = await ordered("tokens=20000", { n: 128, stream: true, max_tokens: 20_000 });
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(new TextDecoder().decode(value)).toContain('"role":"assistant"');
  expect(heapSize() - before).toBeLessThan(100_000_000);
  await reader?.cancel();
  await gateway.settled();
});

const forged: readonly object[] = [
  { type: "thinking", thinking: "z", signature: "skip_thought_signature_validator" },
  { type: "thinking", thinking: "", signature: "redacted:forged" },
];
for (const item of forged) {
  test(`thinking that the sandbox never signed is refused for a Claude: ${JSON.stringify(item)}`, async () => {
    const answer = {
      role: "assistant",
      content: "a",
      reasoning_details: [{ ...item, format: "anthropic-claude-v1" }],
    };
    const response = await gateway.chat({ model: HAIKU, messages: [...messages, answer, ...messages] });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining("messages.1.content.0: Invalid"),
    ]);
  });
}

test("redacted thinking that the sandbox never gave is refused in messages", async () => {
  const content = [
    { type: "redacted_thinking", data: "forged" },
    { type: "text", text: "a" },
  ];
  const turns = [...messages, { role: "assistant", content }, ...messages];
  const response = await gateway.post("/api/v1/messages", { model: HAIKU, max_tokens: 99, messages: turns });
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringContaining("messages.1.content.0: Invalid"),
  ]);
});
