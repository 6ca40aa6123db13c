import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStream } from "../upstream/chat-bytes.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, resetAt, stallAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { openRawClient, postBytes, type RawClient } from "../upstream/raw-client.ts";
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

/** Another gateway in place of this one. */
async function restart(options: Parameters<typeof startGateway>[0]): Promise<void> {
  await gateway.close();
  gateway = await startGateway({ openai: `${double.url}/v1`, clock, ...options });
}

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

  test("of two keys of one account are apart, and a key without limits has none and is told of none", async () => {
    const [one, two] = [await issue({ requests_per_minute: 1 }), await issue({ requests_per_minute: 1 })];
    const free = await issue({});
    for (const key of [one, two]) expect((await ask(key)).status).toBe(200);
    for (const key of [one, two]) expect((await ask(key)).status).toBe(429);
    for (let i = 0; i < 5; i += 1) {
      const answer = await ask(free);
      expect(answer.status).toBe(200);
      expect([...answer.headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
    }
  });

  test("that are changed hold from the next request on, and what was used before counts", async () => {
    const key = await issue({ requests_per_minute: 1 });
    const limit = (limits: Limits | null) => gateway.admin("PATCH", `/keys/${key.id}`, { limits });
    const statuses = async (count: number): Promise<number[]> => {
      const all: number[] = [];
      for (let i = 0; i < count; i += 1) all.push((await ask(key)).status);
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
    const key = await issue({ tokens_per_minute: 200 });
    const gate = createGate();
    double.handle(() => gateAt(chatAnswer({ words: ["Hello."], usage: USAGE }), "start", gate));
    const first = ask(key);
    await double.waitForRequest(1);
    const refused = await toldOf(await ask(key, { max_tokens: 200 }));
    expect(refused).toMatchObject({ status: 429, retryAfter: "60", retryAfterMs: "60000" });
    expect(refused.message).toContain("200 tokens per minute");
    // About ten tokens of input, and the 64 that it may put out.
    expect(Number(refused.remaining[1])).toBeLessThan(136);
    expect(Number(refused.remaining[1])).toBeGreaterThan(110);
    gate.release();
    expect(await toldOf(await first)).toMatchObject({ status: 200, remaining: [null, "185"] });
    await clock.advance(30_000);
    expect(await toldOf(await ask(key))).toMatchObject({ status: 200, remaining: [null, "170"] });
  });

  test("that an answer went beyond refuse until the told time", async () => {
    const key = await issue({ tokens_per_minute: 200 });
    double.handle(() =>
      chatAnswer({
        words: ["Hello."],
        usage: { prompt_tokens: 10, completion_tokens: 700, total_tokens: 710 },
      }),
    );
    const free = { max_tokens: undefined };
    expect(await toldOf(await ask(key, free))).toMatchObject({ status: 200, remaining: [null, "0"] });
    await clock.advance(1_000);
    expect(await toldOf(await ask(key))).toMatchObject({ status: 429, retryAfterMs: "59000" });
    await clock.advance(59_000);
    expect((await ask(key)).status).toBe(200);
  });

  test("that a request alone is larger than are a 429 that says not to come again", async () => {
    const key = await issue({ tokens_per_minute: 100, requests_per_minute: 2 });
    const messages = [{ role: "user" as const, content: "many words ".repeat(200) }];
    for (let i = 0; i < 3; i += 1) {
      const refused = await toldOf(await ask(key, { messages }));
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
    expect(double.requests.length).toBe(0);
  });

  test("that a provider claims beyond what can be do not lock the key out", async () => {
    const key = await issue({ tokens_per_minute: 1_000 });
    double.handle(() =>
      chatAnswer({
        words: ["Hello."],
        usage: { prompt_tokens: 10, completion_tokens: 9_000_000, total_tokens: 9_000_010 },
      }),
    );
    expect(Number((await toldOf(await ask(key))).remaining[1])).toBeGreaterThan(900);
  });
});

/** What one way to end a request is tried with. */
interface Trial {
  readonly key: LimitedKey;
  /** Posts with the key on a socket of its own. */
  post(request: object): Promise<RawClient>;
}

const plain = chatAnswer({ words: ["Hello."], usage: USAGE });
const events = chatStream({ words: ["Hel", "lo."], usage: USAGE });
const answers = async (answer: Answer, trial: Trial, more: object = {}): Promise<Response> => {
  double.handle(() => answer);
  const response = await ask(trial.key, more);
  await response.text();
  return response;
};
const leaves = async (
  answer: Answer,
  trial: Trial,
  { stream, seen = "" }: { stream: boolean; seen?: string },
) => {
  double.handle(() => answer);
  const client = await trial.post({ ...body, stream });
  const request = await double.waitForRequest(1);
  if (seen !== "") await client.waitFor(seen);
  client.reset();
  await double.waitForClientGone(request);
};

// Every way out of a request frees its place, and counts the tokens it is charged for.
const ENDS: readonly {
  readonly name: string;
  readonly options?: Parameters<typeof startGateway>[0];
  /** Tokens that count afterwards; "some" where they are our own count. */
  readonly tokens: number | "some";
  end(trial: Trial): Promise<void>;
}[] = [
  {
    name: "a whole answer",
    tokens: 15,
    end: async (trial) => expect((await answers(plain, trial)).status).toBe(200),
  },
  {
    name: "a whole stream",
    tokens: 15,
    end: async (trial) =>
      expect((await answers(sseAnswer(events), trial, { stream: true })).status).toBe(200),
  },
  ...[false, true].map((stream) => ({
    name: `a refusal of the provider (${stream ? "streamed" : "plain"})`,
    tokens: 0,
    async end(trial: Trial) {
      const refused = await answers(jsonAnswer(400, { error: { message: "no" } }), trial, { stream });
      expect(refused.status).toBe(400);
      expect(refused.headers.get("x-ratelimit-remaining-requests")).toBe("99");
      expect(refused.headers.get("x-ratelimit-remaining-tokens")).toBe("100000");
    },
  })),
  {
    name: "a provider that hangs up",
    tokens: 0,
    end: async (trial) => expect((await answers(resetAt(plain, "start"), trial)).status).toBe(502),
  },
  {
    name: "a stream that is cut",
    tokens: "some",
    async end(trial) {
      const cut = {
        ...sseAnswer(events),
        cut: "events",
        end: { at: afterEvent(events, 2), how: "fin" },
      } as const;
      expect((await answers({ ...cut, framing: "close" }, trial, { stream: true })).status).toBe(200);
    },
  },
  {
    name: "a provider that does not answer in time",
    tokens: 0,
    async end({ key }) {
      double.handle(() => stallAt(plain, "start"));
      const late = ask(key);
      await double.waitForRequest(1);
      await clock.advance(600_000);
      expect((await late).status).toBe(504);
    },
  },
  ...[false, true].map((stream) => ({
    name: `a client that leaves before the first byte (${stream ? "streamed" : "plain"})`,
    tokens: "some" as const,
    end: (trial: Trial) => leaves(stallAt(plain, "start"), trial, { stream }),
  })),
  {
    name: "a client that leaves in mid-stream",
    tokens: "some",
    end: (trial) =>
      leaves(stallAt(sseAnswer(events), afterEvent(events, 2)), trial, { stream: true, seen: "Hel" }),
  },
  {
    name: "a 402",
    options: { credits: 0 },
    tokens: 0,
    async end({ key }) {
      const refused = await toldOf(await ask(key));
      expect(refused).toMatchObject({ status: 402, remaining: ["99", "100000"] });
      const path = `/accounts/${gateway.accountId}/credits`;
      await gateway.admin("POST", path, { amount: 100, reason: "test" });
    },
  },
  ...(
    ["hold.before_submit", "hold.after_commit", "upstream.after_headers", "settle.before_submit"] as const
  ).map((at) => ({
    name: `a fault of ours at ${at}`,
    // The first pass is that of the request before.
    options: { environment: { SWITCHYARD_FAILPOINT: `${at}:throw:2` } },
    tokens: at === "settle.before_submit" ? 15 : 0,
    async end(trial: Trial) {
      const failed = await answers(plain, trial);
      expect(failed.status).toBe(500);
      expect(failed.headers.get("x-ratelimit-remaining-requests")).toBe("99");
    },
  })),
  {
    name: "a stream whose charge is not written at once",
    options: { environment: { SWITCHYARD_FAILPOINT: "settle.before_submit:throw:2" } },
    tokens: 15,
    end: async (trial) =>
      expect((await answers(sseAnswer(events), trial, { stream: true })).status).toBe(200),
  },
  ...[false, true].map((stream) => ({
    name: `a shutdown (${stream ? "streamed" : "plain"})`,
    tokens: stream ? ("some" as const) : 0,
    async end({ key }: Trial) {
      double.handle(() =>
        stream ? stallAt(sseAnswer(events), afterEvent(events, 2)) : stallAt(plain, "start"),
      );
      const answer = ask(key, { stream });
      await double.waitForRequest(1);
      const response = stream ? await answer : undefined;
      gateway.services.endCalls();
      expect((await (response ?? answer)).status).toBe(stream ? 200 : 503);
      await response?.text();
    },
  })),
];

describe("concurrency", () => {
  test("lets so many run at once, and another as soon as one has ended", async () => {
    const key = await issue({ concurrency: 3 });
    const gate = createGate();
    double.handle(() => gateAt(plain, "start", gate));
    const running = Array.from({ length: 20 }, () => ask(key));
    await double.waitForRequest(3);
    const refused = await toldOf(await ask(key));
    expect(refused).toMatchObject({ status: 429, retryAfter: "1", retryAfterMs: "1000", shouldRetry: null });
    expect(refused.message).toContain("3 requests at once");
    gate.release();
    const statuses = (await Promise.all(running)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBe(3);
    expect(statuses.filter((status) => status === 429).length).toBe(17);
    expect(double.requests.length).toBe(3);
    for (let i = 0; i < 5; i += 1) expect((await ask(key)).status).toBe(200);
  });

  for (const { name, options, tokens, end } of ENDS) {
    test(`is freed by ${name}`, async () => {
      await restart({ credits: 1_000, ...options });
      const key = await issue({ concurrency: 1, tokens_per_minute: 100_000, requests_per_minute: 100 });
      expect((await ask(key)).status).toBe(options?.credits === 0 ? 402 : 200);
      await clock.advance(60_000);
      double.reset();
      await end({ key, post: (request) => postOn(key, request) });
      double.handle(() => plain);
      const next = await toldOf(await askWhenFree(key));
      expect(next.status).toBe(200);
      const used = 100_000 - Number(next.remaining[1]) - 15;
      if (tokens === "some") expect(used).toBeGreaterThan(0);
      else expect(used).toBe(tokens);
      expect(used).toBeLessThan(80);
      // Freed once, and not twice: there is one place still.
      const gate = createGate();
      double.handle(() => gateAt(plain, "start", gate));
      const seen = double.requests.length;
      const running = ask(key);
      await double.waitForRequest(seen + 1);
      expect((await ask(key)).status).toBe(429);
      gate.release();
      expect((await running).status).toBe(200);
    });
  }
});

async function postOn({ key }: LimitedKey, request: object): Promise<RawClient> {
  const client = await openRawClient(gateway.url);
  client.send(
    postBytes("/api/v1/chat/completions", JSON.stringify(request), [`Authorization: Bearer ${key}`]),
  );
  return client;
}

/** Asks until the place is free: a client that has left is only noticed a little later. */
async function askWhenFree(key: LimitedKey): Promise<Response> {
  let answer = await ask(key);
  for (let i = 0; i < 500 && answer.status === 429; i += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    answer = await ask(key);
  }
  return answer;
}

describe("order of checks", () => {
  test("a wrong key is 401 and a bad request 400, also on a limit that is used up; 429 comes before 402", async () => {
    await restart({ credits: 0 });
    const key = await issue({ requests_per_minute: 1 });
    expect((await ask(key)).status).toBe(402);
    expect((await ask(key)).status).toBe(429);
    for (const bad of [
      { messages: "no" },
      { model: "nobody/knows" },
      { temperature: 3 },
      { messages: [{ role: "user", content: "x".repeat(10_000_000) }] },
    ])
      expect((await ask(key, bad)).status).toBe(400);
    expect((await gateway.chat("{", { headers: key.headers })).status).toBe(400);
    const wrong = { authorization: `Bearer ${key.key.slice(0, -1)}x` };
    expect((await gateway.chat(body, { headers: wrong })).status).toBe(401);
    await clock.advance(60_000);
    expect((await ask(key)).status).toBe(402);
  });

  test("what is refused before the limit is asked uses nothing of it, and is told nothing of it", async () => {
    const key = await issue({ requests_per_minute: 1 });
    for (let i = 0; i < 3; i += 1) {
      const refused = await ask(key, { messages: "no" });
      expect(refused.status).toBe(400);
      expect(refused.headers.has("x-ratelimit-limit-requests")).toBe(false);
    }
    expect((await ask(key)).status).toBe(200);
  });
});

test("a key whose limits are used up reads models and health, and the operator works on: no 429 there", async () => {
  const key = await issue({ requests_per_minute: 1, concurrency: 1, tokens_per_minute: 1 });
  expect((await ask(key)).status).toBe(429);
  for (let i = 0; i < 20; i += 1)
    for (const path of ["/api/v1/models", `/api/v1/models/${body.model}`, "/healthz", "/readyz"]) {
      const answer = await fetch(gateway.url + path, { headers: key.headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.has("x-ratelimit-limit-requests")).toBe(false);
      await answer.arrayBuffer();
    }
  expect((await gateway.admin("GET", "/keys")).status).toBe(200);
});

test("the description names 429 where a limit may refuse, and nowhere else", async () => {
  const description = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Json;
  const limited = Object.entries<Json>(description.paths).flatMap(([path, methods]) =>
    Object.values<Json>(methods).some(({ responses }) => "429" in responses) ? [path] : [],
  );
  expect(limited).toContain("/api/v1/chat/completions");
  expect(
    limited.filter((path) => /admin|health|ready|docs|openapi|models$|models\/\{\w+\}$/.test(path)),
  ).toEqual([]);
});

test("a refusal is logged with its limit, costs nothing and leaves no row", async () => {
  const key = await issue({ requests_per_minute: 1 });
  await ask(key);
  const { balance } = await gateway.account();
  const refused = await ask(key);
  const line = gateway.logs.find(({ request_id }) => request_id === refused.headers.get("x-request-id"));
  expect(line).toMatchObject({
    status: 429,
    error: "rate_limit_error",
    limit: "requests_per_minute",
    key_id: key.id,
    model: body.model,
  });
  expect(await gateway.account()).toMatchObject({ balance, held: 0 });
  const { json } = await gateway.admin("GET", `/requests?key_id=${key.id}`);
  expect(json.data.length).toBe(1);
});

describe("openai", () => {
  /** The SDK, unmodified; the clock stands still but for the time that it waits between two tries. */
  const clientOf = (key: LimitedKey, maxRetries: number) => {
    const statuses: number[] = [];
    const client = new OpenAI({
      baseURL: `${gateway.url}/api/v1`,
      apiKey: key.key,
      maxRetries,
      async fetch(url, init) {
        const response = await fetch(url, init);
        statuses.push(response.status);
        if (response.status === 429) await clock.advance(Number(response.headers.get("retry-after-ms")));
        return response;
      },
    });
    return { client, statuses };
  };

  for (const stream of [false, true]) {
    test(`reads how its key stands from the headers of ${stream ? "a stream" : "an answer"}`, async () => {
      const key = await issue({ requests_per_minute: 60, tokens_per_minute: 5_000 });
      await ask(key);
      await clock.advance(1_500);
      double.handle(() => (stream ? sseAnswer(events) : plain));
      const { client } = clientOf(key, 0);
      const { response } = await client.chat.completions.create({ ...body, stream }).withResponse();
      const told = Object.fromEntries(
        [...response.headers].filter(([name]) => name.startsWith("x-ratelimit")),
      );
      expect(told).toMatchObject({
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "58",
        "x-ratelimit-reset-requests": "60s",
        "x-ratelimit-limit-tokens": "5000",
        "x-ratelimit-reset-tokens": "60s",
      });
      const left = Number(told["x-ratelimit-remaining-tokens"]);
      // A stream has just begun: its guess counts.
      if (stream) expect(left).toBeLessThan(4_970);
      else expect(left).toBe(4_970);
    });
  }

  test("tries again after the time it was told, and is served", async () => {
    const key = await issue({ requests_per_minute: 1 });
    await ask(key);
    await clock.advance(59_980);
    const { client, statuses } = clientOf(key, 1);
    const completion = await client.chat.completions.create(body);
    expect(completion.choices[0]?.message.content).toBe("Hello.");
    expect(statuses).toEqual([429, 200]);
  });

  test("raises a RateLimitError, and does not try again what waiting cannot fix", async () => {
    const key = await issue({ tokens_per_minute: 1 });
    const { client, statuses } = clientOf(key, 3);
    const error: unknown = await client.chat.completions.create(body).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(OpenAI.RateLimitError);
    expect(error).toMatchObject({ status: 429, type: "rate_limit_error" });
    expect(statuses).toEqual([429]);
  });
});
