import { afterEach, beforeEach, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

// A body that is too large to be kept is sent once: to the first way that can be called at that moment.

const GOOD = chatAnswer({
  words: ["Hello."],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});

let first: UpstreamDouble;
let second: UpstreamDouble;
let gateway: TestGateway;
let clock: FakeClock;

const settings = (): string => `
providers:
  first:
    base_url: "${first.url}/v1"
    api_key_env: FIRST_KEY
    credentials: [{ env: FIRST_KEY, concurrency: 1 }]
    models:
      - { id: t/model, upstream_id: up-1, max_output: 100, prices: { input: 0.01, output: 0.01 } }
      - { id: t/alone, upstream_id: up-alone, max_output: 100, prices: { input: 0.01, output: 0.01 } }
  second:
    base_url: "${second.url}/v1"
    api_key_env: SECOND_KEY
    models:
      - { id: t/other, upstream_id: up-other, max_output: 100, prices: { input: 0.01, output: 0.01 } }
routing:
  breaker_seconds: 60
  models:
    t/model: { routes: [{ provider: first }, { provider: second, upstream_id: up-2 }] }
    t/alone: { fallback: [t/other] }
`;

beforeEach(async () => {
  [first, second] = [await startUpstreamDouble(), await startUpstreamDouble()];
  clock = createFakeClock();
  const environment = { FIRST_KEY: "sk-first-1", SECOND_KEY: "sk-second-1" };
  gateway = await startGateway({ settings: settings(), environment, clock });
  second.handle(() => GOOD);
});
afterEach(async () => {
  await gateway.close();
  await first.close();
  await second.close();
});

const LARGE = "word ".repeat(1_000_000);

const ask = (model: string, content = LARGE): Promise<Response> =>
  gateway.chat({ model, messages: [{ role: "user", content }], max_tokens: 20 });

const calls = (): readonly number[] => [first.requests.length, second.requests.length];

for (const [model, named] of [
  ["t/model", "another route"],
  ["t/alone", "another model"],
] as const) {
  test(`goes by ${named} while the first way's breaker is open`, async () => {
    first.handle(() => jsonAnswer(401, {}));
    await ask("t/alone", "small");
    const before = calls();
    const response = await ask(model);
    expect(response.status).toBe(200);
    expect(calls()).toEqual([before[0] as number, (before[1] as number) + 1]);
    const sent = second.requests.at(-1)?.json() as Json;
    expect(sent.messages[0].content).toBe(LARGE);
  });

  test(`goes by ${named} while the first way has as many calls as it may`, async () => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    first.handle(() => promise);
    const slow = ask(model, "small");
    await first.waitForRequest(1);
    expect((await ask(model)).status).toBe(200);
    expect(calls()).toEqual([1, 1]);
    resolve(GOOD);
    expect((await slow).status).toBe(200);
  });
}

test("is sent once: no other way is tried behind the first that took it", async () => {
  first.handle(() => jsonAnswer(500, {}));
  expect((await ask("t/model")).status).toBe(502);
  expect(calls()).toEqual([1, 0]);
  await gateway.settled();
  const { json } = await gateway.admin("GET", "/requests?limit=1");
  expect([json.data[0].attempts.length, json.data[0].credit]).toEqual([1, 0]);
});

test("is a 503 where no way can be called, and nothing is held for it", async () => {
  first.handle(() => jsonAnswer(401, {}));
  second.handle(() => jsonAnswer(401, {}));
  expect((await ask("t/model", "small")).status).toBe(502);
  const { json: before } = await gateway.admin("GET", "/requests");
  expect((await ask("t/alone")).status).toBe(503);
  const { json } = await gateway.admin("GET", "/requests");
  expect(json.data).toHaveLength(before.data.length);
});
