import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createFakeClock, type FakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { longContentLength, resetAt, stallAt } from "../upstream/faults.ts";

// A model with two routes, of which the first has two credentials. The tests check which failure is answered by which
// other way, what is charged for it, and when nothing is sent again.

const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const GOOD = chatAnswer({ words: ["Hello."], usage: USAGE });
const GOOD_STREAM = chatStreamAnswer({ words: ["Hello."], usage: USAGE });

/** Each server has one route: `first` by two credentials, `second` by one. */
let first: UpstreamDouble;
let second: UpstreamDouble;
let gateway: TestGateway;
let clock: FakeClock;

beforeAll(async () => {
  first = await startUpstreamDouble();
  second = await startUpstreamDouble();
});
afterAll(async () => {
  await first.close();
  await second.close();
});

const settings = (more = ""): string => `
aliases: { quick: t/cheap, good: t/dear }
providers:
  first:
    base_url: "${first.url}/v1"
    api_key_env: FIRST_KEY
    credentials: [{ env: FIRST_KEY_2 }]
    models:
      - { id: t/model, upstream_id: up-1, max_output: 100, prices: { input: 1, output: 2 } }
      - { id: t/cheap, upstream_id: up-cheap, max_output: 100, prices: { input: 0.5, output: 1 } }
  second:
    base_url: "${second.url}/v1"
    api_key_env: SECOND_KEY
    models:
      - { id: t/dear, upstream_id: up-dear, max_output: 100, prices: { input: 4, output: 8 } }
routing:
  models:
    t/model:
      routes:
        - { provider: first }
        - { provider: second, upstream_id: up-2 }
${more}
`;

const ENVIRONMENT = { FIRST_KEY: "sk-first-1", FIRST_KEY_2: "sk-first-2", SECOND_KEY: "sk-second-1" };

beforeEach(async () => {
  first.reset();
  second.reset();
  clock = createFakeClock();
  gateway = await startGateway({ settings: settings(), environment: ENVIRONMENT, clock });
});
afterEach(() => gateway.close());

const BODY = { model: "t/model", messages: [{ role: "user", content: "Hi" }], max_tokens: 20 };

/** The calls that each server got, by the credential that they came with. */
function calls(): readonly string[] {
  const all = [...first.requests, ...second.requests];
  return all.map((request) => request.header("authorization")?.replace("Bearer sk-", "") ?? "none");
}

async function lastRow(): Promise<Json> {
  const { json } = await gateway.admin("GET", "/requests?limit=1");
  return json.data[0];
}

describe("a refusal is answered by another way, and charged once", () => {
  const cases: readonly {
    readonly name: string;
    readonly answer: Answer;
    readonly by: readonly string[];
  }[] = [
    { name: "401: by another credential", answer: jsonAnswer(401, {}), by: ["first-1", "first-2"] },
    { name: "403: by another credential", answer: jsonAnswer(403, {}), by: ["first-1", "first-2"] },
    { name: "404: by another route", answer: jsonAnswer(404, {}), by: ["first-1", "second-1"] },
    { name: "408", answer: jsonAnswer(408, {}), by: ["first-1", "first-2"] },
    { name: "425", answer: jsonAnswer(425, {}), by: ["first-1", "first-2"] },
    { name: "429", answer: jsonAnswer(429, {}), by: ["first-1", "first-2"] },
    { name: "500", answer: jsonAnswer(500, {}), by: ["first-1", "first-2"] },
    { name: "503", answer: jsonAnswer(503, {}), by: ["first-1", "first-2"] },
    { name: "529", answer: jsonAnswer(529, {}), by: ["first-1", "first-2"] },
  ];
  for (const { name, answer, by } of cases)
    for (const stream of [false, true])
      test(`${name} (${stream ? "streamed" : "plain"})`, async () => {
        let count = 0;
        first.handle(() => (count++ === 0 ? answer : stream ? GOOD_STREAM : GOOD));
        second.handle(() => (stream ? GOOD_STREAM : GOOD));
        const response = await gateway.chat({ ...BODY, stream });
        expect(response.status).toBe(200);
        expect(await response.text()).toContain("Hello.");
        expect(calls()).toEqual(by);
        await gateway.settled();
        const row = await lastRow();
        expect([row.outcome, row.attempts.length, row.attempts[0].status]).toEqual([
          "completed",
          2,
          answer.status,
        ]);
        // 10 tokens at 1 and 5 at 2 USD a million.
        expect(row.credit).toBe(0.2);
      });
});

test("a provider that knows only one of a model's two names there serves it by that, and goes on to", async () => {
  const named = settings().replace(
    "{ provider: second, upstream_id: up-2 }",
    "{ provider: first, upstream_id: up-2 }",
  );
  const other = await startGateway({ settings: named, environment: ENVIRONMENT, clock });
  const asked: string[] = [];
  first.handle((request) => {
    const { model } = request.json() as Json;
    asked.push(model);
    return model === "up-1" ? jsonAnswer(404, {}) : GOOD;
  });
  for (let i = 0; i < 2; i += 1) expect((await other.chat(BODY)).status).toBe(200);
  expect(asked).toEqual(["up-1", "up-2", "up-2"]);
  const { json } = await other.admin("GET", "/routes?model=t/model");
  const states = json.data.map(({ upstream_id, state, calls }: Json) => [upstream_id, state, calls]);
  expect(states).toEqual([
    ["up-1", "cooling", 1],
    ["up-1", "cooling", 0],
    ["up-2", "healthy", 1],
    ["up-2", "healthy", 1],
  ]);
  await other.close();
});

describe("what a provider may have done is not asked for again", () => {
  const cases: readonly (readonly [name: string, answer: Answer, status: number])[] = [
    ["a 502", jsonAnswer(502, {}), 502],
    ["a 504", jsonAnswer(504, {}), 504],
    ["a 302", jsonAnswer(302, {}, { headers: [["location", "/x"]] }), 502],
    ["a 307", jsonAnswer(307, {}, { headers: [["location", "http://169.254.169.254/"]] }), 502],
    ["a reset after the request", resetAt(GOOD, "start"), 502],
    ["an answer that is none", jsonAnswer(200, { choices: "x" }), 502],
    ["a good status with a limit of the rate in it", jsonAnswer(200, { error: { code: 429 } }), 503],
    ["a good status with a refused credential in it", jsonAnswer(200, { error: { code: 401 } }), 502],
    ["a 400", jsonAnswer(400, { error: { message: "No." } }), 400],
    ["a 413", jsonAnswer(413, {}), 400],
    ["a 451", jsonAnswer(451, {}), 400],
  ];
  for (const [name, answer, status] of cases)
    test(name, async () => {
      first.handle(() => answer);
      second.handle(() => GOOD);
      expect((await gateway.chat(BODY)).status).toBe(status);
      expect(calls()).toEqual(["first-1"]);
      await gateway.settled();
      expect((await lastRow()).credit).toBe(0);
    });

  test("but where the operator allows it", async () => {
    const allowed = settings("  unsafe_retries: [502, reset]");
    const other = await startGateway({ settings: allowed, environment: ENVIRONMENT, clock });
    let count = 0;
    first.handle(() => (count++ === 0 ? jsonAnswer(502, {}) : resetAt(GOOD, "start")));
    second.handle(() => GOOD);
    expect((await other.chat(BODY)).status).toBe(200);
    expect(calls()).toEqual(["first-1", "first-2", "second-1"]);
    await other.close();
  });

  const risks: readonly (readonly [name: string, allowed: string, answer: Answer])[] = [
    ["a reset", "reset", resetAt(GOOD, "start")],
    ["a 502", "502", jsonAnswer(502, {})],
    ["a 504", "504", jsonAnswer(504, {})],
    ["an answer without choices", "bad_answer", jsonAnswer(200, { choices: "x" })],
    ["an answer without a byte", "bad_answer", jsonAnswer(200, "")],
    ["an answer that is HTML", "bad_answer", { ...GOOD, headers: [["content-type", "text/html"]] }],
  ];
  for (const [name, risk, answer] of risks)
    for (const stream of [false, true])
      test(`but ${name} is where the operator allows ${risk}, and the client pays for one (${stream ? "streamed" : "plain"})`, async () => {
        first.handle(() => answer);
        second.handle(() => (stream ? GOOD_STREAM : GOOD));
        const own = settings(`  unsafe_retries: [${risk}]`);
        const other = await startGateway({ settings: own, environment: ENVIRONMENT, clock });
        const response = await other.chat({ ...BODY, stream });
        const text = await response.text();
        await other.settled();
        const [row] = (await other.admin("GET", "/requests?limit=1")).json.data;
        expect([response.status, text.includes("Hello."), row.attempts.length]).toEqual([200, true, 3]);
        // 10 tokens of input and 5 of output, at the price of the model, once.
        expect(1_000_000 - (await other.account()).balance).toBeCloseTo(0.2, 6);
        await other.close();
      });
});

describe("a stream", () => {
  const failing = (before: string): Answer =>
    sseAnswer(`${before}data: {"error":{"message":"busy","type":"overloaded_error"}}\n\n`);

  test("that says in place of content that it failed is asked for elsewhere", async () => {
    first.handle(() => failing(`data: {"id":"c","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n`));
    second.handle(() => GOOD_STREAM);
    const text = await (await gateway.chat({ ...BODY, stream: true })).text();
    expect(text).toContain("Hello.");
    expect(text).not.toContain("error");
    expect(text.match(/"role":"assistant"/g)?.length).toBe(1);
    expect(calls()).toEqual(["first-1", "first-2", "second-1"]);
  });

  test("of which the client has content ends with the failure", async () => {
    first.handle(() => failing(`data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n`));
    second.handle(() => GOOD_STREAM);
    const text = await (await gateway.chat({ ...BODY, stream: true })).text();
    expect(text).toContain("Hel");
    expect(text).toContain('"finish_reason":"error"');
    expect(calls()).toEqual(["first-1"]);
  });

  test("of which the provider gives its first words beside an error is not asked for again", async () => {
    const choice = { index: 0, delta: { content: "Half" }, finish_reason: "error", error: { code: 429 } };
    first.handle(() => sseAnswer(`data: ${JSON.stringify({ id: "c", choices: [choice] })}\n\n`));
    second.handle(() => GOOD_STREAM);
    expect((await gateway.chat({ ...BODY, stream: true })).status).toBe(502);
    expect(calls()).toEqual(["first-1"]);
    expect((await lastRow()).credit).toBe(0);
  });

  test("that is answered by a text as JSON, with an error beside it, is not asked for again", async () => {
    const message = { role: "assistant", content: "Half" };
    const choices = [{ index: 0, message, finish_reason: "error", error: { code: 503, message: "busy" } }];
    first.handle(() => jsonAnswer(200, { id: "c", object: "chat.completion", choices, usage: USAGE }));
    second.handle(() => GOOD_STREAM);
    expect((await gateway.chat({ ...BODY, stream: true })).status).toBe(502);
    expect(calls()).toEqual(["first-1"]);
  });

  test("whose client was only kept waiting goes on elsewhere", async () => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    first.handle(() => promise);
    second.handle(() => GOOD_STREAM);
    const asked = gateway.chat({ ...BODY, stream: true });
    await first.waitForRequest(1);
    await clock.advance(15_000);
    const response = await asked;
    expect(response.status).toBe(200);
    first.handle(() => jsonAnswer(503, {}));
    resolve(jsonAnswer(503, {}));
    expect(await response.text()).toContain("Hello.");
    expect(calls()).toEqual(["first-1", "first-2", "second-1"]);
  });
});

describe("bounds of retrying", () => {
  test("the last call goes to a provider that was not asked yet", async () => {
    const many = settings().replace("[{ env: FIRST_KEY_2 }]", "[{ env: FIRST_KEY_2 }, { env: FIRST_KEY_3 }]");
    const other = await startGateway({
      settings: many,
      environment: { ...ENVIRONMENT, FIRST_KEY_3: "sk-first-3" },
      clock,
    });
    first.handle(() => jsonAnswer(503, {}));
    second.handle(() => GOOD);
    expect((await other.chat(BODY)).status).toBe(200);
    expect(calls()).toEqual(["first-1", "first-2", "second-1"]);
    await other.close();
  });

  test("three calls for one request, and the last refusal is the client's", async () => {
    first.handle(() => jsonAnswer(500, {}));
    second.handle(() => jsonAnswer(503, {}, { headers: [["retry-after", "7"]] }));
    const response = await gateway.chat(BODY);
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "7"]);
    expect(calls()).toEqual(["first-1", "first-2", "second-1"]);
    await gateway.settled();
    expect((await lastRow()).credit).toBe(0);
  });

  test("the budget of all requests together", async () => {
    const none = settings("  retry_budget: 0");
    const other = await startGateway({ settings: none, environment: ENVIRONMENT, clock });
    first.handle(() => jsonAnswer(503, {}));
    second.handle(() => GOOD);
    expect((await other.chat(BODY)).status).toBe(503);
    expect(calls()).toEqual(["first-1"]);
    await other.close();
  });

  test("which by default is ten at the start, and a tenth of the requests", async () => {
    const other = await startGateway({
      settings: settings("  breaker_failures: 0"),
      environment: ENVIRONMENT,
      clock,
    });
    first.handle(() => jsonAnswer(404, {}));
    second.handle(() => GOOD);
    for (let i = 0; i < 100; i += 1) await (await other.chat(BODY)).arrayBuffer();
    expect(second.requests.length).toBeWithin(19, 21);
    await other.close();
  });

  test("where every way is closed a request is refused at once: nothing is sent, and nothing is held", async () => {
    first.handle(() => jsonAnswer(401, {}));
    second.handle(() => jsonAnswer(401, {}));
    expect((await gateway.chat(BODY)).status).toBe(502);
    const sent = calls().length;
    const rows = (await gateway.admin("GET", "/requests")).json.data.length;
    const response = await gateway.chat(BODY);
    const { error }: Json = await response.json();
    expect([response.status, error.type]).toEqual([503, "overloaded_error"]);
    // A second, and up to a tenth of it more.
    expect(response.headers.get("retry-after")).toMatch(/^[12]$/);
    expect(calls()).toHaveLength(sent);
    expect((await gateway.admin("GET", "/requests")).json.data).toHaveLength(rows);
    // Half a minute later one of them may be tried again, and is well.
    first.handle(() => GOOD);
    await clock.advance(30_000);
    expect((await gateway.chat(BODY)).status).toBe(200);
  });

  test("a request that tries a way again, and waits for its answer, does not keep others from it for long", async () => {
    const ask = () => gateway.chat({ ...BODY, model: "t/dear" });
    second.handle(() => jsonAnswer(502, {}));
    for (let i = 0; i < 5; i += 1) await ask();
    await clock.advance(1_100);
    const { promise, resolve } = Promise.withResolvers<Answer>();
    second.handle(() => promise);
    const slow = ask();
    await second.waitForRequest(6);
    second.handle(() => GOOD);
    expect((await ask()).status).toBe(503);
    await clock.advance(1_000);
    expect((await ask()).status).toBe(200);
    expect((await ask()).status).toBe(200);
    resolve(GOOD);
    expect((await slow).status).toBe(200);
  });

  test("a pause that the only way asks for is waited for, where it is short", async () => {
    let count = 0;
    const limited = jsonAnswer(429, {}, { headers: [["retry-after", "2"]] });
    second.handle(() => (count++ === 0 ? limited : GOOD));
    const asked = gateway.chat({ ...BODY, model: "t/dear" });
    await second.waitForRequest(1);
    const askedMs = clock.steadyMs();
    while (second.requests.length === 1) await clock.advance(10);
    expect((await asked).status).toBe(200);
    expect(clock.steadyMs() - askedMs).toBeGreaterThanOrEqual(2_000);
    expect(calls()).toEqual(["second-1", "second-1"]);
  });

  test("a request that is too large for a credential's limit goes to another, and keeps nobody else from it", async () => {
    const error = { message: "Request too large for up-1 on tokens per min (TPM): Limit 1, Requested 30." };
    first.handle((request) =>
      request.header("authorization") === "Bearer sk-first-1" ? jsonAnswer(429, { error }) : GOOD,
    );
    expect((await gateway.chat(BODY)).status).toBe(200);
    expect(calls()).toEqual(["first-1", "first-2"]);
    const { json } = await gateway.admin("GET", "/routes?model=t/model");
    expect(json.data.map(({ state }: Json) => state)).toEqual(["healthy", "healthy", "healthy"]);
  });

  test("a request that is too large for one credential is told so where the others are locked, which is an alarm", async () => {
    const error = { message: "Request too large for up-1 on tokens per min (TPM): Limit 1, Requested 30." };
    first.handle((request) =>
      request.header("authorization") === "Bearer sk-first-1"
        ? jsonAnswer(429, { error })
        : jsonAnswer(401, {}),
    );
    second.handle(() => jsonAnswer(401, {}));
    for (let i = 0; i < 2; i += 1) {
      const response = await gateway.chat(BODY);
      expect([response.status, ((await response.json()) as Json).error.type]).toEqual([
        400,
        "input_too_large",
      ]);
      await gateway.settled();
      const line = gateway.logs.findLast(({ message }) => message === "request");
      if (i === 0) expect(line).toMatchObject({ operator_fault: true, upstream_status: 401 });
    }
  });

  test("a provider that is dead for long costs nobody the answer, however seldom requests come", async () => {
    first.handle(() => jsonAnswer(503, {}));
    second.handle(() => GOOD);
    const statuses: number[] = [];
    for (let i = 0; i < 60; i += 1) {
      statuses.push((await gateway.chat(BODY)).status);
      await clock.advance(60_000);
    }
    expect(statuses).toEqual(statuses.map(() => 200));
    // One request of ten has earned a retry, and tries whether it is back.
    first.reset();
    first.handle(() => GOOD);
    for (let i = 0; i < 20; i += 1) {
      await gateway.chat(BODY);
      await clock.advance(60_000);
    }
    expect(first.requests.length).toBeGreaterThanOrEqual(10);
  });

  for (const stream of [false, true])
    test(`a refusal that does not end is one by its status, after five seconds (${stream ? "streamed" : "plain"})`, async () => {
      first.handle(() => stallAt(jsonAnswer(503, { error: { message: "no" } }), 10));
      second.handle(() => (stream ? GOOD_STREAM : GOOD));
      const askedMs = clock.steadyMs();
      let response: Response | undefined;
      const asked = gateway.chat({ ...BODY, stream }).then((answer) => (response = answer));
      for (; response === undefined; await Bun.sleep(20)) await clock.advance(500);
      const text = await (await asked).text();
      expect([response.status, text.includes("Hello.")]).toEqual([200, true]);
      // Two credentials of the first server come before the second one.
      expect(clock.steadyMs() - askedMs).toBeLessThan(30_000);
      expect(calls()).toEqual(["first-1", "first-2", "second-1"]);
    });

  test("a client that leaves in such a pause pays nothing: nobody was working for it", async () => {
    second.handle(() => jsonAnswer(429, {}, { headers: [["retry-after", "2"]] }));
    for (const stream of [false, true]) {
      const controller = new AbortController();
      const asked = gateway
        .chat({ ...BODY, model: "t/dear", stream }, { signal: controller.signal })
        .catch(() => undefined);
      const request = await second.waitForRequest(1);
      await second.waitForOutcome(request);
      while (!(await pauses())) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await asked;
      await gateway.settled();
      const row = await lastRow();
      expect([stream, row.outcome, row.credit, row.attempts.length]).toEqual([stream, "client_gone", 0, 1]);
      second.reset();
      second.handle(() => jsonAnswer(429, {}, { headers: [["retry-after", "2"]] }));
      await clock.advance(70_000);
    }
  });

  test("a shutdown whose time is over in such a pause ends the request as overloaded: nothing is sent, nothing charged", async () => {
    second.handle(() => jsonAnswer(429, {}, { headers: [["retry-after", "2"]] }));
    const asked = gateway.chat({ ...BODY, model: "t/dear" });
    await second.waitForOutcome(await second.waitForRequest(1));
    while (!(await pauses())) await new Promise((resolve) => setImmediate(resolve));
    gateway.services.endCalls();
    const response = await asked;
    const { error }: Json = await response.json();
    expect([response.status, error.type]).toEqual([503, "overloaded_error"]);
    await gateway.settled();
    const row = await lastRow();
    expect([row.outcome, row.credit, row.attempts.length]).toEqual(["overloaded_error", 0, 1]);
    await clock.advance(70_000);
    expect(calls()).toEqual(["second-1"]);
  });

  /** Whether the way cools, so that its request waits. */
  async function pauses(): Promise<boolean> {
    const { json } = await gateway.admin("GET", "/routes?model=t/dear");
    return json.data[0].state === "cooling";
  }

  test("and not where it is long, whether or not the rest of the refusal comes", async () => {
    const limited = jsonAnswer(429, { error: "Slow down." }, { headers: [["retry-after", "20"]] });
    for (const answer of [limited, longContentLength(limited)]) {
      second.reset();
      second.handle(() => answer);
      const response = await gateway.chat({ ...BODY, model: "t/dear" });
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "20"]);
      expect(calls()).toEqual(["second-1"]);
      await clock.advance(20_000);
    }
  });
});

test("by latency, plain requests go by whole answers and streams by their first content", async () => {
  const byLatency = settings("      by: latency").replace("routing:", "routing:\n  breaker_failures: 0");
  const other = await startGateway({ settings: byLatency, environment: ENVIRONMENT, clock });
  let broken: UpstreamDouble | undefined;
  const answersAfter = (server: UpstreamDouble, plainMs: number, contentMs: number): void =>
    server.handle(async (request): Promise<Answer> => {
      if (server === broken) return jsonAnswer(503, {});
      const isStream = (request.json() as Json).stream === true;
      await clock.advance(isStream ? contentMs : plainMs);
      return isStream ? GOOD_STREAM : GOOD;
    });
  answersAfter(first, 9_000, 100);
  answersAfter(second, 3_000, 5_000);
  const ask = async (stream: boolean): Promise<void> => {
    const response = await other.chat({ ...BODY, stream });
    expect([response.status, (await response.text()).includes("Hello.")]).toEqual([200, true]);
    await other.settled();
  };
  // Each serves one of each kind.
  for (const stream of [false, true]) for (broken of [first, second]) await ask(stream);
  broken = undefined;
  for (const [stream, server] of [
    [false, second],
    [true, first],
  ] as const) {
    const before = server.requests.length;
    for (let i = 0; i < 3; i += 1) await ask(stream);
    expect([stream, server.requests.length - before]).toEqual([stream, 3]);
  }
  await other.close();
});

describe("another model serves", () => {
  test("that the caller names: the dearest is held, the one that served is charged and named", async () => {
    first.handle(() => jsonAnswer(503, {}));
    second.handle(() => GOOD);
    const response = await gateway.chat({ ...BODY, model: "t/cheap", models: ["t/dear"] });
    const answer: Json = await response.json();
    expect([response.status, answer.model]).toEqual([200, "t/dear"]);
    expect(response.headers.get("warning")).toContain("t/cheap could not serve, and t/dear serves");
    // 10 tokens at 4 and 5 at 8 USD a million.
    expect(answer.credit).toBe(0.8);
    await gateway.settled();
    const row = await lastRow();
    expect([row.model, row.provider, row.credit]).toEqual(["t/dear", "second", 0.8]);
    expect(await gateway.admin("GET", "/audit")).toMatchObject({ json: { ok: true } });
    for (const request of [...first.requests, ...second.requests])
      expect(request.json()).not.toHaveProperty("models");
  });

  test("in place of `model`, from a list alone", async () => {
    first.handle(() => GOOD);
    const { model: _model, ...rest } = BODY;
    const answer: Json = await (await gateway.chat({ ...rest, models: ["t/cheap", "t/dear"] })).json();
    expect([answer.model, answer.credit]).toEqual(["t/cheap", 0.1]);
  });

  test("in every format", async () => {
    first.handle(() => jsonAnswer(503, {}));
    second.handle(() => GOOD);
    const asked = [
      ["/api/v1/messages", { ...BODY, model: "t/cheap", models: ["t/dear"] }, {}],
      ["/api/v1/responses", { model: "t/cheap", models: ["t/dear"], input: "Hi" }, {}],
      [
        "/api/v1/models/t/cheap:generateContent",
        { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
        { "x-switchyard-models": "t/dear" },
        400,
      ],
    ] as const;
    for (const [path, body, headers] of asked) {
      const response = await gateway.post(path, body, { headers: { ...headers } });
      const answer: Json = await response.json();
      expect([path, response.status, answer.model ?? answer.modelVersion]).toEqual([path, 200, "t/dear"]);
    }
  });

  test("and the warnings are of its name and of those left out, in every format", async () => {
    const models = ["t/none", "good"];
    const left = "models: t/none cannot serve this request, and was left out ";
    for (const [path, body, headers] of [
      ["/api/v1/chat/completions", { ...BODY, model: "quick", models }, {}],
      ["/api/v1/messages", { ...BODY, model: "quick", models }, {}],
      ["/api/v1/responses", { model: "quick", models, input: "Hi" }, {}],
      [
        "/api/v1/models/quick:generateContent",
        { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
        { "x-switchyard-models": models.join() },
      ],
    ] as const) {
      const warned = async (): Promise<readonly string[]> => {
        const response = await gateway.post(path, body, { headers: { ...headers } });
        // Others are of the request's fields.
        return [path, ...(response.headers.get("warning")?.match(/(?<=switchyard ")models?: [^("]+/g) ?? [])];
      };
      first.handle(() => GOOD);
      expect(await warned()).toEqual([path, left, "model: the name is an alias, and t/cheap serves."]);
      first.handle(() => jsonAnswer(503, {}));
      second.handle(() => GOOD);
      expect(await warned()).toEqual([
        path,
        left,
        "model: the name is an alias, and t/dear serves.",
        "model: t/cheap could not serve, and t/dear serves",
      ]);
    }
  });

  test("that cannot take the request is left out, with a warning that names it", async () => {
    first.handle(() => GOOD);
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    const content = [{ type: "text", text: "Hi" }, image];
    const asked = { ...BODY, model: "openai/gpt-5.6-luna", models: ["t/cheap"], max_tokens: 20 };
    const response = await gateway.chat({ ...asked, messages: [{ role: "user", content }] });
    // Neither takes it: gpt has no live provider here, t/cheap no images. The first refusal is told.
    expect(response.status).toBe(400);
    const served = await gateway.chat(asked);
    expect([served.status, ((await served.json()) as Json).model]).toEqual([200, "t/cheap"]);
    expect(served.headers.get("warning")).toContain("openai/gpt-5.6-luna");
  });

  test("and none that there is not: a warning names it", async () => {
    first.handle(() => GOOD);
    const response = await gateway.chat({ ...BODY, models: ["t/none", "t/cheap"] });
    expect(response.status).toBe(200);
    expect(response.headers.get("warning")).toContain("models: t/none cannot serve this request");
    const refused = await gateway.chat({ ...BODY, model: "t/none", models: ["t/nothing"] });
    const { error }: Json = await refused.json();
    expect([refused.status, error.code]).toEqual([400, "model_not_found"]);
  });

  test("and a name that no header can have does not spoil the answer", async () => {
    first.handle(() => GOOD);
    for (const name of ["t/n\n: o", "t/\u4e2d", 't/"q"\\', "t/".padEnd(10_000, "x")]) {
      const response = await gateway.chat({ ...BODY, model: "t/cheap", models: [name] });
      expect([name, response.status]).toEqual([name, 200]);
      const warning = response.headers.get("warning") ?? "";
      expect(warning).toMatch(/^299 switchyard "models: t\/[^"\\]{1,400}"$/);
    }
  });

  test("never one that the key may not use, in every format", async () => {
    const { json } = await gateway.admin("POST", "/keys", {
      account_id: gateway.accountId,
      name: "one",
      models: ["t/cheap"],
    });
    const named = { model: "t/cheap", models: ["t/dear"] };
    for (const [path, body, more, code] of [
      ["/api/v1/chat/completions", { ...BODY, ...named }, {}, "model_not_allowed"],
      ["/api/v1/messages", { ...BODY, ...named }, {}, "model_not_allowed"],
      ["/api/v1/responses", { ...named, input: "Hi" }, {}, "model_not_allowed"],
      [
        "/api/v1/models/t/cheap:generateContent",
        { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
        { "x-switchyard-models": "t/dear" },
        400,
      ],
    ] as const) {
      const headers = { authorization: `Bearer ${json.key}`, ...more };
      const response = await gateway.post(path, body, { headers });
      const { error }: Json = await response.json();
      expect([path, response.status, error.code, error.message]).toEqual([
        path,
        400,
        code,
        expect.stringContaining("This API key may not use the model t/dear"),
      ]);
    }
    expect(calls()).toEqual([]);
  });

  for (const [models, says] of [
    ["t/dear", "models must be a list of 1 to 5 models"],
    [[], "models must be a list of 1 to 5 models"],
    [Array.from({ length: 6 }, () => "t/dear"), "models must be a list of 1 to 5 models"],
    [["t/dear", 1], "models[1] must be the name of a model"],
  ] as const)
    test(`a list of ${JSON.stringify(models).slice(0, 40)} is a 400`, async () => {
      const response = await gateway.chat({ ...BODY, models });
      const { error }: Json = await response.json();
      expect(response.status).toBe(400);
      expect(error.message).toContain(says);
    });

  test("that the operator names", async () => {
    const named = settings("    t/cheap: { fallback: [t/dear] }");
    const other = await startGateway({ settings: named, environment: ENVIRONMENT, clock });
    first.handle(() => jsonAnswer(503, {}));
    second.handle(() => GOOD_STREAM);
    const text = await (await other.chat({ ...BODY, model: "t/cheap", stream: true })).text();
    expect(text).toContain('"model":"t/dear"');
    expect(text).toContain('"credit":0.8');
    await other.close();
  });

  test("of the caller's list alone, whatever the operator names for one of them", async () => {
    const named = settings("    t/cheap: { fallback: [t/dear] }");
    const other = await startGateway({ settings: named, environment: ENVIRONMENT, clock });
    first.handle(() => jsonAnswer(401, {}));
    second.handle(() => jsonAnswer(401, {}));
    expect((await other.chat({ ...BODY, models: ["t/cheap", "t/model"] })).status).toBe(502);
    expect(second.requests.map((request) => (request.json() as Json).model)).toEqual(["up-2"]);
    await other.close();
  });

  describe("that the operator names,", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    const seen = (): string =>
      settings(`    t/cheap: { fallback: [t/dear] }
    openai/gpt-5.6-luna: { fallback: [t/blind, t/dear] }
    openai/gpt-6-astra: { fallback: [openai/gpt-5.6-sol] }
`)
        .replace("- { id: t/cheap,", "- { id: t/cheap, input_modalities: [text, image],")
        .replace(
          "- { id: t/dear,",
          "- { id: t/blind, upstream_id: up-blind, prices: { input: 1, output: 2 } }\n      - { id: t/dear, input_modalities: [text, image],",
        );
    let other: TestGateway;
    const start = async (text: string): Promise<void> =>
      void (other = await startGateway({ settings: text, environment: ENVIRONMENT, clock }));
    afterEach(() => other.close());

    test("and that cannot serve the request, is left out with a warning, and the first is sent as its own", async () => {
      await start(seen().replace("{ id: t/dear, input_modalities: [text, image],", "{ id: t/dear,"));
      first.handle(() => GOOD);
      const messages = [{ role: "user", content: [{ type: "text", text: "Hi" }, image] }];
      const response = await other.chat({ ...BODY, model: "t/cheap", messages });
      expect([response.status, ((await response.json()) as Json).model]).toEqual([200, "t/cheap"]);
      expect(response.headers.get("warning")).toContain(
        "fallback: t/dear cannot serve this request, and was left out (t/dear takes text as input, not image.)",
      );
      expect(first.requests.at(-1)?.json()).toMatchObject({ model: "up-cheap" });
    });

    test("and that the key may not use, is no word to the client", async () => {
      await start(seen());
      first.handle(() => GOOD);
      const key = { account_id: other.accountId, name: "one", models: ["t/cheap"] };
      const { json } = await other.admin("POST", "/keys", key);
      const headers = { authorization: `Bearer ${json.key}` };
      const response = await other.chat({ ...BODY, model: "t/cheap" }, { headers });
      expect([response.status, response.headers.get("warning")]).toEqual([200, null]);
    });

    test("for one without a live provider, by the first that can, with a warning", async () => {
      await start(seen());
      second.handle(() => GOOD);
      const messages = [{ role: "user", content: [{ type: "text", text: "Hi" }, image] }];
      const response = await other.chat({ ...BODY, model: "openai/gpt-5.6-luna", messages });
      const answer: Json = await response.json();
      expect([response.status, answer.model, answer.credit]).toEqual([200, "t/dear", 0.8]);
      const warning = response.headers.get("warning");
      expect(warning).toContain("model: openai/gpt-5.6-luna has no live provider, and t/dear serves");
      expect(warning).toContain("fallback: t/blind cannot serve this request, and was left out");
      expect(second.requests.at(-1)?.json()).toMatchObject({ model: "up-dear" });
    });

    test("where none of them can, the refusal is that of the model that was asked for", async () => {
      await start(seen());
      for (const model of ["openai/gpt-6-astra", "openai/gpt-5.6-sol"]) {
        const response = await other.chat({ ...BODY, model });
        const { error }: Json = await response.json();
        expect([response.status, error.code]).toEqual([400, "no_live_provider"]);
        expect(error.message).toContain(model);
      }
      expect(calls()).toEqual([]);
    });
  });
});

test("a caller may choose the order only by a key that may", async () => {
  second.handle(() => GOOD);
  first.handle(() => GOOD);
  const headers = { "x-switchyard-route": "cost" };
  const refused = await gateway.chat(BODY, { headers });
  expect([refused.status, ((await refused.json()) as Json).error.param]).toEqual([400, "x-switchyard-route"]);
  const { json } = await gateway.admin("POST", "/keys", {
    account_id: gateway.accountId,
    name: "r",
    routes: true,
  });
  const authorization = `Bearer ${json.key}`;
  const wrong = await gateway.chat(BODY, { headers: { authorization, "x-switchyard-route": "best" } });
  expect(wrong.status).toBe(400);
  const cheap = settings().replace(
    "upstream_id: up-2 }",
    "upstream_id: up-2, cost: { input: 0.1, output: 0.2 } }",
  );
  const other = await startGateway({ settings: cheap, environment: ENVIRONMENT, clock });
  const made = await other.admin("POST", "/keys", { account_id: other.accountId, name: "r", routes: true });
  const chosen = await other.chat(BODY, {
    headers: { ...headers, authorization: `Bearer ${made.json.key}` },
  });
  expect(chosen.status).toBe(200);
  expect(calls()).toEqual(["second-1"]);
  await other.close();
});

test("a body that is too large to be kept is sent once", async () => {
  first.handle(() => jsonAnswer(503, {}));
  second.handle(() => GOOD);
  const long = "x".repeat(5 * 1024 * 1024);
  const response = await gateway.chat({ ...BODY, messages: [{ role: "user", content: long }] });
  expect([response.status, calls().length]).toEqual([503, 1]);
  const { json } = await gateway.admin("GET", "/routes?model=t/model");
  expect(json.data.map((way: Json) => way.calls)).toEqual([1, 0, 0]);
});

test("requests for embeddings take another way, too", async () => {
  const vectors = {
    object: "list",
    model: "e",
    data: [{ object: "embedding", index: 0, embedding: [1, 0] }],
    usage: { prompt_tokens: 3, total_tokens: 3 },
  };
  const own = `
providers:
  first:
    base_url: "${first.url}/v1"
    api_key_env: FIRST_KEY
    models: [{ id: t/vectors, category: embedding, embedding: { dimensions: 2, most_texts: 9 }, prices: { input: 1 } }]
  second: { base_url: "${second.url}/v1", api_key_env: SECOND_KEY, models: [{ id: t/other, prices: { input: 1, output: 1 } }] }
routing: { models: { t/vectors: { routes: [{ provider: first }, { provider: second, upstream_id: v2 }] } } }
`;
  const other = await startGateway({ settings: own, environment: ENVIRONMENT, clock });
  first.handle(() => jsonAnswer(500, {}));
  second.handle(() => jsonAnswer(200, vectors));
  const response = await other.post("/api/v1/embeddings", { model: "t/vectors", input: "Hi" });
  expect([response.status, calls()]).toEqual([200, ["first-1", "second-1"]]);
  expect(second.requests.map((request) => (request.json() as Json).model)).toEqual(["v2"]);
  await other.close();
});

test("of what several requests have in common the same way is asked, while its provider has it in its cache", async () => {
  const cached = settings().replace("t/model:\n", "t/model:\n      by: weight\n      sticky: true\n");
  const other = await startGateway({ settings: cached, environment: ENVIRONMENT, clock });
  first.handle(() => GOOD);
  second.handle(() => GOOD);
  const ask = (text: string) => other.chat({ ...BODY, messages: [{ role: "user", content: text }] });
  for (let i = 0; i < 8; i += 1) await ask("The same beginning");
  expect(new Set(calls()).size).toBe(1);
  for (let i = 0; i < 40; i += 1) await ask(`Another beginning ${i}`);
  expect(new Set(calls()).size).toBe(3);
  await other.close();
});

test("of two keys that ask the same each keeps to its own way", async () => {
  const kept = settings().replace("t/model:\n", "t/model:\n      sticky: true\n");
  const other = await startGateway({ settings: kept, environment: ENVIRONMENT, clock });
  const account_id = (await other.admin("GET", "/accounts")).json.data[0].id;
  const issued = await other.admin("POST", "/keys", { account_id, name: "another" });
  second.handle(() => GOOD);
  first.handle(() => jsonAnswer(500, {}));
  const ask = async (headers?: { authorization: string }): Promise<void> =>
    expect((await other.post("/api/v1/chat/completions", BODY, { headers })).status).toBe(200);
  // The first key's requests have gone to the second provider; the other key knows nothing of it.
  await ask();
  first.handle(() => GOOD);
  await ask();
  expect(second.requests).toHaveLength(2);
  await ask({ authorization: `Bearer ${issued.json.key}` });
  expect(second.requests).toHaveLength(2);
  await other.close();
});

test("of two models that are asked the same by their paths, each keeps to its own way", async () => {
  const kept = settings().replace("t/model:\n", "t/model:\n      sticky: true\n");
  const other = await startGateway({ settings: kept, environment: ENVIRONMENT, clock });
  second.handle(() => GOOD);
  const contents = [{ role: "user", parts: [{ text: "Hi" }] }];
  const ask = async (model: string) => {
    const response = await other.post(`/api/v1/models/${model}:generateContent`, { contents });
    expect(response.status).toBe(200);
    return calls().length;
  };
  first.handle(() => jsonAnswer(500, {}));
  await ask("t/model");
  first.handle(() => GOOD);
  const sent = await ask("t/cheap");
  await ask("t/model");
  expect([calls().length, second.requests.length]).toEqual([sent + 1, 2]);
  await other.close();
});

test("and so it is of a model with a price for cached input, by each of its provider's credentials", async () => {
  const cached = settings().replaceAll("input: 0.5, output: 1", "input: 0.5, output: 1, cache_read: 0.1");
  const other = await startGateway({ settings: cached, environment: ENVIRONMENT, clock });
  first.handle(() => GOOD);
  const ask = (text: string) =>
    other.chat({ ...BODY, model: "t/cheap", messages: [{ role: "user", content: text }] });
  for (let i = 0; i < 8; i += 1) await ask("The same beginning");
  expect(new Set(calls()).size).toBe(1);
  for (let i = 0; i < 20; i += 1) await ask(`Another beginning ${i}`);
  expect(new Set(calls()).size).toBe(2);
  const { json } = await other.admin("GET", "/routes?model=t/cheap");
  expect(json.data.map(({ sticky }: Json) => sticky)).toEqual([true, true]);
  await other.close();
});

test("a stream in another format ends as its own caller knows it, whichever way served", async () => {
  first.handle(() => jsonAnswer(503, {}));
  second.handle(() => sseAnswer(chatStream({ words: ["Hello."], usage: USAGE })));
  const response = await gateway.post("/api/v1/messages", { ...BODY, stream: true });
  const text = await response.text();
  expect(text).toContain("event: message_stop");
  expect(text).toContain("Hello.");
  expect(text.match(/event: message_start/g)).toHaveLength(1);
});

test("a provider that fails as its clients ask is called once, and is never closed", async () => {
  const sandbox = await startGateway({ settings: "routing: {}", environment: {}, clock });
  for (let i = 0; i < 8; i += 1) {
    const failing = await sandbox.chat(
      { ...BODY, model: "openai/gpt-5.6-luna" },
      { headers: { "x-sandbox": "fail=overloaded" } },
    );
    expect(failing.status).toBe(503);
    expect(((await failing.json()) as Json).error.message).not.toContain("Every provider");
  }
  expect((await sandbox.chat({ ...BODY, model: "openai/gpt-5.6-luna" })).status).toBe(200);
  await sandbox.settled();
  const { json } = await sandbox.admin("GET", "/requests");
  expect(json.data.map((row: Json) => row.attempts.length)).toEqual(Array.from({ length: 9 }, () => 1));
  await sandbox.close();
});
