import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type Json, type TestGateway } from "../gateway/gateway.ts";

// Limits of keys over real sockets, by a clock that only the test moves: windows of a minute neither pass by
// themselves nor make a test wait.

const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const body = {
  model: "openai/gpt-5.6-luna",
  messages: [{ role: "user" as const, content: "Say hello." }],
  max_tokens: 64,
};

let clock: FakeClock;
let double: UpstreamDouble;
let gateway: TestGateway;

beforeEach(async () => {
  clock = createFakeClock();
  double = await startUpstreamDouble();
  double.handle(() => chatAnswer({ words: ["Hello."], usage: USAGE }));
  gateway = await startGateway({ openai: `${double.url}/v1`, clock });
});
afterEach(async () => {
  await gateway.close();
  await double.close();
});

interface Limits {
  readonly requests_per_minute?: number | null;
  readonly tokens_per_minute?: number | null;
  readonly concurrency?: number | null;
}

interface LimitedKey {
  readonly id: string;
  readonly key: string;
  readonly headers: Record<string, string>;
}

/** A new key of the gateway's account. */
async function issue(limits: Limits, more: object = {}): Promise<LimitedKey> {
  const request = { account_id: gateway.accountId, name: "limited", limits, ...more };
  const { status, json } = await gateway.admin("POST", "/keys", request);
  expect(status).toBe(201);
  return { id: json.id, key: json.key, headers: { authorization: `Bearer ${json.key}` } };
}

const ask = ({ headers }: LimitedKey, more: object = {}): Promise<Response> =>
  gateway.chat({ ...body, ...more }, { headers });

/** Status and what the answer says of limits. */
async function toldOf(response: Response) {
  const text = await response.text();
  const { headers, status } = response;
  const error = text.startsWith("{") ? (JSON.parse(text) as Json).error : undefined;
  return {
    status,
    message: error?.message as string | undefined,
    type: error?.type as string | undefined,
    retryAfter: headers.get("retry-after"),
    retryAfterMs: headers.get("retry-after-ms"),
    shouldRetry: headers.get("x-should-retry"),
    remaining: [
      headers.get("x-ratelimit-remaining-requests"),
      headers.get("x-ratelimit-remaining-tokens"),
    ] as const,
  };
}

describe("requests per minute", () => {
  test("500 at once on a limit of 50: exactly 50 reach upstream, the others are 429", async () => {
    const key = await issue({ requests_per_minute: 50 });
    const answers = await Promise.all(Array.from({ length: 500 }, () => ask(key)));
    expect(answers.filter(({ status }) => status === 200).length).toBe(50);
    expect(answers.filter(({ status }) => status === 429).length).toBe(450);
    expect(double.requests.length).toBe(50);
  });

  test("a request at the told time is served, and not a millisecond before", async () => {
    const key = await issue({ requests_per_minute: 2 });
    expect((await ask(key)).status).toBe(200);
    await clock.advance(20_500);
    expect((await ask(key)).status).toBe(200);
    const refused = await toldOf(await ask(key));
    expect(refused).toMatchObject({
      status: 429,
      type: "rate_limit_error",
      retryAfter: "40",
      retryAfterMs: "39500",
      shouldRetry: null,
      remaining: ["0", null],
    });
    expect(refused.message).toContain("2 requests per minute");
    await clock.advance(39_499);
    expect(await toldOf(await ask(key))).toMatchObject({ status: 429, retryAfter: "1", retryAfterMs: "1" });
    await clock.advance(1);
    expect((await ask(key)).status).toBe(200);
    expect((await ask(key)).status).toBe(429);
    expect(double.requests.length).toBe(3);
  });
});
