import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";

// A gateway whose operator turns probes on: they are made while its provider has no traffic, and nothing of them is seen
// in the books.

const GOOD = chatAnswer({
  words: ["Hello."],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
});
const BODY = { model: "t/model", messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };

let double: UpstreamDouble;
let gateway: TestGateway;
let clock: FakeClock;

beforeAll(async () => {
  double = await startUpstreamDouble();
});
afterAll(() => double.close());

const settings = (routing: string): string => `
providers:
  own:
    base_url: "${double.url}/v1"
    api_key_env: OWN_KEY
    models: [{ id: t/model, upstream_id: up, max_output: 100, prices: { input: 1, output: 2 } }]
routing: ${routing}
`;

beforeEach(async () => {
  double.reset();
  double.handle(({ method }) => (method === "GET" ? jsonAnswer(200, { data: [] }) : GOOD));
  clock = createFakeClock();
  gateway = await startGateway({
    settings: settings("{ probe_seconds: 60, breaker_failures: 1, breaker_seconds: 3600 }"),
    environment: { OWN_KEY: "sk-own" },
    clock,
  });
});
afterEach(() => gateway.close());

const calls = (): readonly string[] => double.requests.map(({ method, target }) => `${method} ${target}`);

function reload(routing: string): void {
  writeFileSync(join(gateway.home, "..", "switchyard.yaml"), settings(routing));
  gateway.services.reload();
}

test("a provider is probed when it was quiet for so long, and no request is booked for that", async () => {
  await clock.advance(40_000);
  expect((await gateway.chat(BODY)).status).toBe(200);
  await gateway.settled();
  await clock.advance(59_999);
  expect(calls()).toEqual(["POST /v1/chat/completions"]);
  await clock.advance(1);
  await double.waitForRequest(2);
  expect(calls().at(-1)).toBe("GET /v1/models");
  expect(double.requests[1]?.header("authorization")).toBe("Bearer sk-own");
  const { json } = await gateway.admin("GET", "/requests");
  expect([json.data.length, (await gateway.admin("GET", "/audit")).json.ok]).toEqual([1, true]);
  expect((await gateway.account()).held).toBe(0);
});

test("a provider that refused the credential is tried by a probe, before a request has to", async () => {
  double.handle(({ method }) => (method === "GET" ? jsonAnswer(200, {}) : jsonAnswer(401, {})));
  expect((await gateway.chat(BODY)).status).toBe(502);
  expect((await gateway.chat(BODY)).status).toBe(503);
  expect(calls()).toEqual(["POST /v1/chat/completions"]);
  await clock.advance(60_000);
  await double.waitForRequest(2);
  double.handle(() => GOOD);
  let response = await gateway.chat(BODY);
  while (response.status === 503) response = await gateway.chat(BODY);
  expect([response.status, ((await response.json()) as Json).model]).toEqual([200, "t/model"]);
});

test("probes are turned on and off by a change of the file", async () => {
  reload("{}");
  await clock.advance(600_000);
  expect(calls()).toEqual([]);
  // It was quiet for longer than that.
  reload("{ probe_seconds: 5 }");
  await double.waitForRequest(1);
  expect(calls()).toEqual(["GET /v1/models"]);
});

test("a gateway that shuts down probes no more, while it still serves", async () => {
  gateway.services.drain();
  await clock.advance(600_000);
  expect(calls()).toEqual([]);
  expect((await gateway.chat(BODY)).status).toBe(200);
});

test("the sandbox is not probed, and no other server in its place", async () => {
  const sandboxed = await startGateway({
    settings: "routing: { probe_seconds: 1 }",
    environment: { SWITCHYARD_SANDBOX: "on" },
    clock,
  });
  await clock.advance(30_000);
  const asked = { ...BODY, model: "openai/gpt-5.6-luna" };
  expect((await sandboxed.chat(asked)).status).toBe(200);
  expect(calls().every((call) => call === "GET /v1/models")).toBe(true);
  await sandboxed.close();
});
