import { describe, expect, test } from "bun:test";
import { chatAnswer } from "../upstream/chat-bytes.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import type { Json } from "../gateway/gateway.ts";
import { body, type Limits, toldOf, USAGE, useLimitStation } from "./limited-keys.ts";

// What a key may use in a minute, where it is told so, and where not.

const station = useLimitStation();

test("the admin interface tells what a key uses of its limits now", async () => {
  const key = await station.issue({ requests_per_minute: 5, tokens_per_minute: 1_000 });
  const used = async (): Promise<Json> =>
    (await station.gateway.admin("GET", `/keys/${key.id}`)).json.limits_used;
  expect(await used()).toEqual({ requests_per_minute: 0, tokens_per_minute: 0, concurrency: null });
  for (let i = 0; i < 2; i += 1) await (await station.ask(key)).text();
  expect(await used()).toEqual({
    requests_per_minute: 2,
    tokens_per_minute: 2 * USAGE.total_tokens,
    concurrency: null,
  });
  await station.clock.advance(60_000);
  expect(await used()).toEqual({ requests_per_minute: 0, tokens_per_minute: 0, concurrency: null });
});

describe("requests per minute", () => {
  test("500 at once on a limit of 50: exactly 50 reach upstream, the others are 429", async () => {
    const key = await station.issue({ requests_per_minute: 50 });
    const answers = await Promise.all(Array.from({ length: 500 }, () => station.ask(key)));
    expect(answers.filter(({ status }) => status === 200).length).toBe(50);
    expect(answers.filter(({ status }) => status === 429).length).toBe(450);
    expect(station.double.requests.length).toBe(50);
  });

  test("a request at the told time is served, and not a millisecond before", async () => {
    const key = await station.issue({ requests_per_minute: 2 });
    expect((await station.ask(key)).status).toBe(200);
    await station.clock.advance(20_500);
    expect((await station.ask(key)).status).toBe(200);
    const refused = await toldOf(await station.ask(key));
    expect(refused).toMatchObject({
      status: 429,
      type: "rate_limit_error",
      retryAfter: "40",
      retryAfterMs: "39500",
      shouldRetry: null,
      remaining: ["0", null],
    });
    expect(refused.message).toContain("2 requests per minute");
    await station.clock.advance(39_499);
    expect(await toldOf(await station.ask(key))).toMatchObject({
      status: 429,
      retryAfter: "1",
      retryAfterMs: "1",
    });
    await station.clock.advance(1);
    expect((await station.ask(key)).status).toBe(200);
    expect((await station.ask(key)).status).toBe(429);
    expect(station.double.requests.length).toBe(3);
  });

  test("of two keys of one account are apart, and a key without limits has none and is told of none", async () => {
    const [one, two] = [
      await station.issue({ requests_per_minute: 1 }),
      await station.issue({ requests_per_minute: 1 }),
    ];
    const free = await station.issue({});
    for (const key of [one, two]) expect((await station.ask(key)).status).toBe(200);
    for (const key of [one, two]) expect((await station.ask(key)).status).toBe(429);
    for (let i = 0; i < 5; i += 1) {
      const answer = await station.ask(free);
      expect(answer.status).toBe(200);
      expect([...answer.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
    }
  });

  test("that are changed hold from the next request on, and what was used before counts", async () => {
    const key = await station.issue({ requests_per_minute: 1 });
    const limit = (limits: Limits | null) => station.gateway.admin("PATCH", `/keys/${key.id}`, { limits });
    const statuses = async (count: number): Promise<number[]> => {
      const all: number[] = [];
      for (let i = 0; i < count; i += 1) all.push((await station.ask(key)).status);
      return all;
    };
    expect(await statuses(2)).toEqual([200, 429]);
    await limit({ requests_per_minute: 3 });
    expect(await statuses(3)).toEqual([200, 200, 429]);
    await limit({ requests_per_minute: 2 });
    expect(await statuses(1)).toEqual([429]);
    await limit({ requests_per_minute: null });
    expect(await statuses(4)).toEqual([200, 200, 200, 200]);
    await limit({ requests_per_minute: 4, tokens_per_minute: 1_000_000 });
    expect(await statuses(2)).toEqual([200, 429]);
    await limit(null);
    expect(await statuses(2)).toEqual([200, 200]);
  });
});

describe("tokens per minute", () => {
  test("are those that were used: the guess is replaced when the request has ended", async () => {
    const key = await station.issue({ tokens_per_minute: 200 });
    const gate = createGate();
    station.double.handle(() => gateAt(chatAnswer({ words: ["Hello."], usage: USAGE }), "start", gate));
    const first = station.ask(key);
    await station.double.waitForRequest(1);
    const refused = await toldOf(await station.ask(key, { max_tokens: 200 }));
    expect(refused).toMatchObject({ status: 429, retryAfter: "60", retryAfterMs: "60000" });
    expect(refused.message).toContain("200 tokens per minute");
    // About ten tokens of input, and the 64 that it may put out.
    expect(Number(refused.remaining[1])).toBeLessThan(136);
    expect(Number(refused.remaining[1])).toBeGreaterThan(110);
    gate.release();
    expect(await toldOf(await first)).toMatchObject({ status: 200, remaining: [null, "185"] });
    await station.clock.advance(30_000);
    expect(await toldOf(await station.ask(key))).toMatchObject({ status: 200, remaining: [null, "170"] });
  });

  test("that an answer went beyond refuse until the told time", async () => {
    const key = await station.issue({ tokens_per_minute: 200 });
    station.double.handle(() =>
      chatAnswer({
        words: ["Hello."],
        usage: { prompt_tokens: 10, completion_tokens: 700, total_tokens: 710 },
      }),
    );
    const free = { max_tokens: undefined };
    expect(await toldOf(await station.ask(key, free))).toMatchObject({ status: 200, remaining: [null, "0"] });
    await station.clock.advance(1_000);
    expect(await toldOf(await station.ask(key))).toMatchObject({ status: 429, retryAfterMs: "59000" });
    await station.clock.advance(59_000);
    expect((await station.ask(key)).status).toBe(200);
  });

  test("that a request alone is larger than are a 429 that says not to come again", async () => {
    const key = await station.issue({ tokens_per_minute: 100, requests_per_minute: 2 });
    const messages = [{ role: "user" as const, content: "many words ".repeat(200) }];
    for (let i = 0; i < 3; i += 1) {
      const refused = await toldOf(await station.ask(key, { messages }));
      expect(refused).toMatchObject({
        status: 429,
        type: "rate_limit_error",
        retryAfter: null,
        retryAfterMs: null,
        shouldRetry: "false",
        remaining: ["2", "100"],
      });
      expect(refused.message).toContain("waiting does not help");
    }
    expect(station.double.requests.length).toBe(0);
  });

  test("that a provider claims beyond what can be do not lock the key out", async () => {
    const key = await station.issue({ tokens_per_minute: 1_000 });
    station.double.handle(() =>
      chatAnswer({
        words: ["Hello."],
        usage: { prompt_tokens: 10, completion_tokens: 9_000_000, total_tokens: 9_000_010 },
      }),
    );
    expect(Number((await toldOf(await station.ask(key))).remaining[1])).toBeGreaterThan(900);
  });
});

describe("order of checks", () => {
  test("a wrong key is 401 and a bad request 400, also on a limit that is used up; 429 comes before 402", async () => {
    await station.restart({ credits: 0 });
    const key = await station.issue({ requests_per_minute: 1 });
    expect((await station.ask(key)).status).toBe(402);
    expect((await station.ask(key)).status).toBe(429);
    for (const bad of [{ messages: "no" }, { model: "nobody/knows" }, { temperature: 3 }])
      expect((await station.ask(key, bad)).status).toBe(400);
    // What is wrong with a body above 1 MiB is not known yet: it was not read.
    const large = { messages: [{ role: "user", content: "x".repeat(10_000_000) }] };
    expect((await station.ask(key, large)).status).toBe(429);
    expect((await station.gateway.chat("{", { headers: key.headers })).status).toBe(400);
    const wrong = { authorization: `Bearer ${key.key.slice(0, -1)}${key.key.endsWith("x") ? "y" : "x"}` };
    expect((await station.gateway.chat(body, { headers: wrong })).status).toBe(401);
    await station.clock.advance(60_000);
    expect((await station.ask(key)).status).toBe(402);
  });

  test("what is refused before the limit is asked uses nothing of it, and is told nothing of it", async () => {
    const key = await station.issue({ requests_per_minute: 1 });
    for (let i = 0; i < 3; i += 1) {
      const refused = await station.ask(key, { messages: "no" });
      expect(refused.status).toBe(400);
      expect(refused.headers.has("x-ratelimit-limit-requests")).toBe(false);
    }
    expect((await station.ask(key)).status).toBe(200);
  });
});

test("a key whose limits are used up reads models and health, and the operator works on: no 429 there", async () => {
  const key = await station.issue({ requests_per_minute: 1, concurrency: 1, tokens_per_minute: 1 });
  expect((await station.ask(key)).status).toBe(429);
  for (let i = 0; i < 20; i += 1)
    for (const path of ["/api/v1/models", `/api/v1/models/${body.model}`, "/healthz", "/readyz"]) {
      const answer = await fetch(station.gateway.url + path, { headers: key.headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.has("x-ratelimit-limit-requests")).toBe(false);
      await answer.arrayBuffer();
    }
  expect((await station.gateway.admin("GET", "/keys")).status).toBe(200);
});

test("the description names 429 where a limit may refuse, and nowhere else", async () => {
  const description = (await (await fetch(`${station.gateway.url}/openapi.json`)).json()) as Json;
  const limited = Object.entries<Json>(description.paths).flatMap(([path, methods]) =>
    Object.values<Json>(methods).some(({ responses }) => "429" in responses) ? [path] : [],
  );
  expect(limited).toContain("/api/v1/chat/completions");
  expect(
    limited.filter((path) => /admin|health|ready|docs|openapi|models$|models\/\{\w+\}$/.test(path)),
  ).toEqual([]);
});

test("a refusal is logged with its limit, costs nothing and leaves no row", async () => {
  const key = await station.issue({ requests_per_minute: 1 });
  await station.ask(key);
  const { balance } = await station.gateway.account();
  const refused = await station.ask(key);
  const line = station.gateway.logs.find(
    ({ request_id }) => request_id === refused.headers.get("x-request-id"),
  );
  expect(line).toMatchObject({
    status: 429,
    error: "rate_limit_error",
    limit: "requests_per_minute",
    key_id: key.id,
    model: body.model,
  });
  expect(await station.gateway.account()).toMatchObject({ balance, held: 0 });
  const { json } = await station.gateway.admin("GET", `/requests?key_id=${key.id}`);
  expect(json.data.length).toBe(1);
});
