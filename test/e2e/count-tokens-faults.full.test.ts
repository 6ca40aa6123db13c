import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { startGateway, type Json, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { messageAnswer } from "../upstream/messages-bytes.ts";
import { redirectTo, resetAt, stallAt } from "../upstream/faults.ts";
import { openRawClient } from "../upstream/raw-client.ts";

// Whatever becomes of the provider's count, the client gets one: its own, within two seconds, by a clock that only the
// test moves.

const MESSAGES = "/api/v1/messages/count_tokens";
const GENERATE = "/api/v1/models/google/gemini-3.8-flash:countTokens";
const messagesBody = {
  model: "anthropic/claude-haiku-4.5",
  messages: [{ role: "user", content: "Say hello." }],
};
const generateBody = { contents: [{ role: "user", parts: [{ text: "Say hello." }] }] };
const GOOD = jsonAnswer(200, { input_tokens: 14 });

let clock: FakeClock;
let double: UpstreamDouble;
let gateway: TestGateway;

async function start(settings?: string): Promise<void> {
  gateway = await startGateway({
    anthropic: double.url,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url, SECOND_KEY },
    clock,
    credits: 0,
    ...(settings === undefined ? {} : { settings }),
  });
}

async function open(): Promise<void> {
  clock = createFakeClock();
  double = await startUpstreamDouble();
  await start();
}

const SECOND_KEY = "sk-second-0123456789";
const TWO_CREDENTIALS = `
providers: { anthropic: { credentials: [{ env: SECOND_KEY }] } }
routing:
  models: { anthropic/claude-haiku-4.5: { sticky: false, routes: [{ provider: anthropic }] } }
`;

async function close(): Promise<void> {
  await gateway.close();
  await double.close();
}

/** What came of a count: the number, whether it is our own, and why. */
async function outcome(asked: Promise<Response>) {
  const response = await asked;
  const json: Json = await response.json();
  return {
    status: response.status,
    tokens: json.input_tokens ?? json.totalTokens,
    own: response.headers.get("x-switchyard-estimate") === "true",
    warning: response.headers.get("warning") ?? "",
  };
}

/** What `times` calls come to, ten at once. */
async function inTurns<Result>(times: number, call: () => Promise<Result>): Promise<Result[]> {
  const all: Result[] = [];
  while (all.length < times) all.push(...(await Promise.all(Array.from({ length: 10 }, call))));
  return all;
}

const countMessages = (init: RequestInit = {}) => outcome(gateway.post(MESSAGES, messagesBody, init));
const countContents = (init: RequestInit = {}) => outcome(gateway.post(GENERATE, generateBody, init));

describe("a provider that does not count", () => {
  beforeAll(open);
  beforeEach(() => double.reset());
  afterAll(close);

  const large = { input_tokens: 14, padding: "x".repeat(100_000) };
  const faults: readonly (readonly [name: string, answer: Answer])[] = [
    [
      "is limited",
      jsonAnswer(429, { error: { message: "slow down" } }, { headers: [["retry-after", "60"]] }),
    ],
    ["fails", jsonAnswer(500, { error: { message: "broken" } })],
    ["is overloaded", jsonAnswer(529, { error: { message: "overloaded" } })],
    ["has no such call", jsonAnswer(404, { error: { message: "Not found" } })],
    [
      "refuses the gateway's key",
      jsonAnswer(401, { error: { message: `invalid x-api-key ${UPSTREAM_KEY}` } }),
    ],
    ["refuses the request", jsonAnswer(400, { error: { message: "messages: no" } })],
    ["refuses the request, and counts it", jsonAnswer(400, { input_tokens: 14, totalTokens: 14 })],
    ["sends the gateway elsewhere", redirectTo("http://127.0.0.1:1/", 307)],
    ["answers with half a JSON", { ...jsonAnswer(200, {}), body: '{"input_tokens":1' }],
    ["answers with a list", jsonAnswer(200, [14])],
    ["answers with nothing", { ...jsonAnswer(200, {}), body: "" }],
    ["gives no count", jsonAnswer(200, {})],
    ["gives 0", jsonAnswer(200, { input_tokens: 0, totalTokens: 0 })],
    ["gives less than nothing", jsonAnswer(200, { input_tokens: -5, totalTokens: -5 })],
    ["gives a broken number", jsonAnswer(200, { input_tokens: 1.5, totalTokens: 1.5 })],
    ["gives a text", jsonAnswer(200, { input_tokens: "14", totalTokens: "14" })],
    [
      "gives what no number has room for",
      { ...jsonAnswer(200, {}), body: '{"input_tokens":1e300,"totalTokens":1e300}' },
    ],
    ["answers at length", jsonAnswer(200, large)],
    ["answers at length, in chunks", jsonAnswer(200, large, { framing: "chunked" })],
    ["breaks before its answer", resetAt(GOOD, "start")],
    ["breaks in its answer", resetAt(GOOD, 5)],
  ];
  for (const [name, answer] of faults) {
    test(`since it ${name}: both formats have our own count, which says so`, async () => {
      double.handle(() => answer);
      for (const counted of [await countMessages(), await countContents()]) {
        expect(counted).toMatchObject({ status: 200, own: true });
        expect(counted.tokens).toBeGreaterThan(5);
        expect(counted.warning).toContain("the count is an estimate: the provider");
        // Nothing of what a provider says of our account goes on to clients.
        expect(counted.warning).not.toMatch(/40[14]|key|slow/);
      }
      expect(double.requests).toHaveLength(2);
      expect(JSON.stringify(gateway.logs)).not.toContain(UPSTREAM_KEY);
    });
  }

  test("since it announces a long answer: it is left, and not waited for", async () => {
    double.handle(() => stallAt({ ...GOOD, declaredLength: 100_000_000 }, "body-end"));
    const counted = await countMessages();
    expect(counted).toMatchObject({ status: 200, own: true });
    await double.waitForClientGone(await double.waitForRequest(1));
  });

  test("is in the log with its status, and that the count is an estimate", async () => {
    const logged = gateway.logs.length;
    double.handle(() => jsonAnswer(500, {}));
    await countMessages();
    expect(gateway.logs.slice(logged).filter(({ path }) => path === MESSAGES)).toMatchObject([
      { outcome: "estimated", upstream_status: 500, provider: "anthropic", model: messagesBody.model },
    ]);
  });

  // The last: the double is gone after it.
  test("since nobody is there", async () => {
    await double.close();
    expect(await countMessages()).toMatchObject({ status: 200, own: true });
  });
});

describe("a provider that is slow", () => {
  beforeEach(open);
  afterEach(close);

  for (const [name, at] of [
    ["before its answer", "start"],
    ["in its answer", 5],
  ] as const)
    test(`${name} is left after two seconds, and not before`, async () => {
      double.handle(() => stallAt(GOOD, at));
      let isAnswered = false;
      const asked = countMessages().finally(() => (isAnswered = true));
      const request = await double.waitForRequest(1);
      await clock.advance(1_999);
      expect(isAnswered).toBe(false);
      await clock.advance(1);
      const counted = await asked;
      expect(counted).toMatchObject({ status: 200, own: true });
      expect(counted.warning).toContain("took too long");
      await double.waitForClientGone(request);
    });

  test("is left when the client leaves", async () => {
    double.handle(() => stallAt(GOOD, "start"));
    const client = await openRawClient(gateway.url);
    const text = JSON.stringify(messagesBody);
    client.send(
      `POST ${MESSAGES} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
    const request = await double.waitForRequest(1);
    client.reset();
    await double.waitForClientGone(request);
    const line = () => gateway.logs.find(({ path }) => path === MESSAGES);
    while (line() === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(line()).toMatchObject({ outcome: "client_gone", status: 499 });
  });

  test("is left when the gateway shuts down, and the client has its count", async () => {
    double.handle(() => stallAt(GOOD, "start"));
    const asked = countMessages();
    await double.waitForRequest(1);
    gateway.services.endCalls();
    expect(await asked).toMatchObject({ status: 200, own: true });
  });
});

describe("a credential that its provider does not accept", () => {
  beforeEach(open);
  afterEach(close);

  test("is not asked to count, and where there is no other nobody is", async () => {
    await gateway.close();
    await start(TWO_CREDENTIALS);
    await gateway.admin("POST", `/accounts/${gateway.accountId}/credits`, { amount: 100, reason: "test" });
    const refused = new Set([UPSTREAM_KEY]);
    double.handle((request) => {
      if (refused.has(request.header("x-api-key") ?? "")) return jsonAnswer(401, {});
      return request.target.endsWith("count_tokens") ? GOOD : messageAnswer();
    });
    const ask = () => gateway.post("/api/v1/messages", { ...messagesBody, max_tokens: 9 });
    expect((await ask()).status).toBe(200);
    double.reset();
    double.handle(() => GOOD);
    expect(await countMessages()).toMatchObject({ own: false, tokens: 14 });
    expect(double.requests.map((request) => request.header("x-api-key"))).toEqual([SECOND_KEY]);
    double.handle(() => jsonAnswer(401, {}));
    expect((await ask()).status).toBe(502);
    const before = double.requests.length;
    expect(await countMessages()).toMatchObject({ status: 200, own: true });
    expect(double.requests).toHaveLength(before);
  });
});

describe("a model with two routes", () => {
  beforeEach(async () => {
    await open();
    await gateway.close();
    await start(`
providers:
  second:
    base_url: { messages: "${double.url}/second", generate_content: "${double.url}/second" }
    api_key_env: SECOND_KEY
    protocols: [messages, generate_content]
    models: [{ id: t/other, prices: { input: 1, output: 1 } }]
routing:
  attempts: 1
  models:
    anthropic/claude-haiku-4.5: { routes: [{ provider: anthropic }, ${SECOND}] }
    google/gemini-3.8-flash: { routes: [{ provider: google }, ${SECOND}] }
`);
    await gateway.admin("POST", `/accounts/${gateway.accountId}/credits`, { amount: 100, reason: "test" });
    double.handle((request) => jsonAnswer(200, COUNT_BY[by(request)]));
  });
  afterEach(close);

  const SECOND = "{ provider: second, upstream_id: up-2, cost: { input: 0.01, output: 0.01 } }";
  const COUNT_BY = {
    first: { input_tokens: 14, totalTokens: 14 },
    second: { input_tokens: 15, totalTokens: 15 },
  } as const;
  const by = ({ target }: { readonly target: string }): keyof typeof COUNT_BY =>
    target.startsWith("/second/") ? "second" : "first";

  const formats = [
    ["messages", countMessages, () => gateway.post("/api/v1/messages", { ...messagesBody, max_tokens: 9 })],
    [
      "generateContent",
      countContents,
      () => gateway.post(GENERATE.replace("countTokens", "generateContent"), generateBody),
    ],
  ] as const;
  for (const [format, count, ask] of formats) {
    test(`is counted by the first that does not cool (${format})`, async () => {
      expect(await count()).toMatchObject({ own: false, tokens: 14 });
      double.handle((request) => jsonAnswer(by(request) === "first" ? 404 : 200, COUNT_BY[by(request)]));
      expect((await ask()).status).toBe(502);
      expect(await count()).toMatchObject({ own: false, tokens: 15 });
    });

    test(`is counted by the order that a key may ask for, and by that alone (${format})`, async () => {
      const { json } = await gateway.admin("POST", "/keys", {
        account_id: gateway.accountId,
        name: "r",
        routes: true,
      });
      const asked = { "x-switchyard-route": "cost" };
      const headers = { ...asked, authorization: `Bearer ${json.key}` };
      expect(await count({ headers })).toMatchObject({ own: false, tokens: 15 });
      expect(await count({ headers: asked })).toMatchObject({ status: 400 });
    });
  }
});

describe("a model with a route whose provider does not count in this format", () => {
  beforeEach(open);
  afterEach(close);

  const two = (...routes: readonly string[]): string => `
providers:
  chats:
    base_url: "${double.url}/chats"
    api_key_env: SECOND_KEY
    models: [{ id: t/other, prices: { input: 1, output: 1 } }]
routing: { attempts: 1, models: { anthropic/claude-haiku-4.5: { routes: [${routes.join(", ")}] } } }
`;
  const OTHER = "{ provider: chats, upstream_id: up-2 }";
  const OWN = "{ provider: anthropic }";

  test("is counted by the other, whichever comes first", async () => {
    await gateway.close();
    await start(two(OTHER, OWN));
    double.handle(() => GOOD);
    expect(await countMessages()).toMatchObject({ own: false, tokens: 14 });
    expect(double.requests.map(({ target }) => target)).toEqual(["/v1/messages/count_tokens"]);
  });

  test("is counted by the other, though that cools", async () => {
    await gateway.close();
    await start(two(OWN, OTHER));
    await gateway.admin("POST", `/accounts/${gateway.accountId}/credits`, { amount: 100, reason: "test" });
    double.handle(({ target }) => (target.endsWith("count_tokens") ? GOOD : jsonAnswer(429, {})));
    expect((await gateway.post("/api/v1/messages", { ...messagesBody, max_tokens: 9 })).status).toBe(503);
    expect(await countMessages()).toMatchObject({ own: false, tokens: 14 });
  });
});

describe("a key that counts much", () => {
  beforeEach(open);
  afterEach(close);

  test("has providers asked 300 times in any minute; beyond it is our own count, and other keys are not touched", async () => {
    double.handle(() => GOOD);
    const first = await inTurns(300, () => countMessages());
    expect(first.filter(({ own }) => own)).toEqual([]);
    const beyond = await countMessages();
    expect(beyond).toMatchObject({ status: 200, own: true });
    expect(beyond.warning).toContain("300 times a minute");
    expect(double.requests).toHaveLength(300);
    const { json: other } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "o",
    });
    const headers = { authorization: `Bearer ${other.key}` };
    expect(await countMessages({ headers })).toMatchObject({ own: false, tokens: 14 });
    await clock.advance(59_999);
    expect((await countMessages()).own).toBe(true);
    await clock.advance(1);
    expect((await countMessages()).own).toBe(false);
  });

  test("has as many as the settings say, over both formats together, and those that fail count too", async () => {
    await gateway.close();
    await start("limits: { count_tokens_per_minute: 2 }");
    double.handle(() => jsonAnswer(500, {}));
    await countMessages();
    await countContents();
    double.handle(() => GOOD);
    expect((await countMessages()).warning).toContain("2 times a minute");
    expect(double.requests).toHaveLength(2);
  });

  test("cannot make more of it by a body that is refused: nothing was asked", async () => {
    await gateway.close();
    await start("limits: { count_tokens_per_minute: 1 }");
    double.handle(() => GOOD);
    for (let i = 0; i < 3; i += 1)
      expect((await gateway.post(MESSAGES, { ...messagesBody, messages: [] })).status).toBe(400);
    expect((await countMessages()).own).toBe(false);
  });

  for (const value of ["0", "1.5", "many", "1000001"])
    test(`a setting of ${value} is refused by name`, async () => {
      const refusal = await start(`limits: { count_tokens_per_minute: ${value} }`).then(
        () => "",
        (error: unknown) => (error as Error).message,
      );
      expect(refusal).toContain("limits.count_tokens_per_minute");
    });
});
