import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { APIError } from "openai";
import { type Json, startGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import {
  coded,
  embeddingAnswer,
  GEMINI,
  MISTRAL,
  PATH,
  QWEN,
  SMALL,
  useEmbeddingStation,
  vector,
} from "./embedding-station.ts";

// Embeddings of live providers, which the double plays as strictly as they are: what goes up, what comes down, and what
// is refused.

const station = useEmbeddingStation();
let client: OpenAI;
beforeAll(() => {
  const { url, key: apiKey } = station.gateway;
  client = new OpenAI({ baseURL: `${url}/api/v1`, apiKey, maxRetries: 0 });
});

describe("what goes up", () => {
  test("to OpenAI: each field that it has, the user as a hash", async () => {
    const body = { model: SMALL, input: ["a", "b"], dimensions: 3, encoding_format: "float", user: "ann" };
    expect((await station.ask(body)).status).toBe(200);
    const { user }: Json = station.sent();
    expect(station.sent()).toEqual({ ...body, model: "text-embedding-3-small", user });
    expect(user).toMatch(/^[\w-]{43}$/);
    await station.ask(body);
    await station.ask({ ...body, user: "bob" });
    const [, again, other]: Json[] = station.double.requests.map((request) => request.json());
    expect([again.user === user, other.user === user]).toEqual([true, false]);
    expect(station.double.requests[0]?.header("authorization")).toBe(`Bearer ${UPSTREAM_KEY}`);
  });

  test("to OpenAI: lists of tokens, as they are", async () => {
    for (const [texts, input] of [
      [1, [9_906, 1_917]],
      [2, [[9_906], [1_917, 0]]],
    ] as const) {
      station.double.reset();
      station.double.handle(embeddingAnswer);
      const { status, json } = await station.ask({ model: SMALL, input });
      expect([status, json.data.length]).toEqual([200, texts]);
      expect(station.sent().input).toEqual(input);
    }
  });

  test("to others: no encoding, no user; a length under the vendor's own name", async () => {
    for (const [model, dimensions, up] of [
      [QWEN, 256, { model: "text-embedding-v4", input: "a", dimensions: 256 }],
      [QWEN, undefined, { model: "text-embedding-v4", input: "a" }],
      [MISTRAL, undefined, { model: "mistral-embed", input: "a" }],
      ["local/nomic", 1, { model: "nomic-embed-text", input: "a", dimensions: 1 }],
    ] as const) {
      station.double.reset();
      station.double.handle(embeddingAnswer);
      const { status, json, headers } = await station.ask({
        model,
        input: "a",
        dimensions,
        encoding_format: "base64",
        user: "ann",
      });
      expect([status, json.model]).toEqual([200, model]);
      expect(station.sent()).toEqual(up);
      expect(json.data[0].embedding).toBe(coded(vector(dimensions ?? 4, 0)));
      expect(headers.get("warning")).toContain("user was left out");
    }
  });

  test("to Gemini: a request for each text, and the key in its header", async () => {
    const { json } = await station.ask({ model: GEMINI, input: ["a", "b"], dimensions: 768 });
    const request = (text: string) => ({
      model: "models/gemini-embedding-001",
      content: { parts: [{ text }] },
      outputDimensionality: 768,
    });
    expect(station.sent()).toEqual({ requests: [request("a"), request("b")] });
    for (const { embedding } of json.data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 6);
    expect(json.usage).toEqual({ prompt_tokens: 8, total_tokens: 8 });
    expect(json.credit).toBe(0.012);
  });

  test("a field of nobody's is left out with a warning that says what was meant", async () => {
    const { status, headers } = await station.ask({
      model: SMALL,
      input: "a",
      input_type: "query",
      Dimension: 3,
    });
    expect(status).toBe(200);
    expect(station.sent()).toEqual({ model: "text-embedding-3-small", input: "a" });
    const warning = headers.get("warning") ?? "";
    expect(warning).toContain("input_type was left out: it is not a field of embeddings");
    expect(warning).toContain(
      "Dimension was left out: it is not a field of embeddings, did you mean dimensions?",
    );
  });
});

describe("the official SDK", () => {
  for (const model of [SMALL, QWEN, MISTRAL, GEMINI]) {
    test(`${model}: by itself, and with floats, reads the vectors that the provider gave`, async () => {
      const byDefault = await client.embeddings.create({ model, input: ["a", "b"] });
      const floats = await client.embeddings.create({ model, input: ["a", "b"], encoding_format: "float" });
      const length = model === GEMINI ? 3_072 : 4;
      for (const { data } of [byDefault, floats])
        expect(data.map(({ embedding }) => embedding)).toEqual([vector(length, 0), vector(length, 1)]);
      expect(byDefault).toHaveProperty("credit");
      expect(
        station.double.requests.every((request) => request.header("accept") === "application/json"),
      ).toBe(true);
    });
  }

  test("raises a 400 that names the field", async () => {
    const error = await client.embeddings.create({ model: SMALL, input: ["a", ""] }).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(APIError);
    expect(error).toMatchObject({ status: 400, param: "input[1]", type: "invalid_request_error" });
  });
});

describe("a 400 names the field, costs nothing and goes nowhere", () => {
  const long = "word ".repeat(20_000);
  const refused: readonly (readonly [name: string, body: object, param: string, kind?: string])[] = [
    ["no model", { model: undefined }, "model"],
    ["an unknown model", { model: "openai/text-embedding-4" }, "model"],
    ["a language model", { model: "openai/gpt-6-astra" }, "model"],
    ["no input", { input: undefined }, "input"],
    ["an empty text", { input: "" }, "input"],
    ["an empty text among others", { input: ["a", "b", ""] }, "input[2]"],
    ["no texts", { input: [] }, "input"],
    ["too many texts", { input: Array(2_049).fill("a") }, "input"],
    ["more texts than the model takes", { model: QWEN, input: Array(11).fill("a") }, "input"],
    ["a text that is surely too long", { input: ["a", long] }, "input[1]", "input_too_large"],
    ["too many tokens", { input: Array(8_193).fill(1) }, "input", "input_too_large"],
    ["too many tokens in all", { input: Array(40).fill(Array(8_000).fill(1)) }, "input", "input_too_large"],
    ["tokens for Qwen", { model: QWEN, input: [1, 2] }, "input"],
    ["tokens for Mistral", { model: MISTRAL, input: [[1, 2]] }, "input"],
    ["tokens for Gemini", { model: GEMINI, input: [1, 2] }, "input"],
    ["tokens for a server of the operator's", { model: "local/nomic", input: [1] }, "input"],
    ["no dimensions", { dimensions: 0 }, "dimensions"],
    ["more dimensions than the model has", { dimensions: 1_537 }, "dimensions"],
    ["dimensions between Gemini's", { model: GEMINI, dimensions: 1_000 }, "dimensions"],
    ["dimensions of a model that has one length", { model: MISTRAL, dimensions: 512 }, "dimensions"],
    ["an unknown encoding", { encoding_format: "int8" }, "encoding_format"],
    ["a user that is no text", { user: 5 }, "user"],
    [
      "an answer that nobody could read",
      { model: "openai/text-embedding-3-large", input: Array(1_500).fill("a") },
      "input",
    ],
  ];
  for (const [name, more, param, kind = "invalid_request_error"] of refused) {
    test(name, async () => {
      const before = await station.balance();
      const { status, json, headers } = await station.ask({ model: SMALL, input: "a", ...more });
      expect([status, json.error.type, json.error.param]).toEqual([400, kind, param]);
      expect(headers.get("x-should-retry")).toBe("false");
      expect(station.double.requests.length).toBe(0);
      expect(await station.balance()).toBe(before);
    });
  }

  test("tokens are refused in words that help a client of LangChain", async () => {
    const { json } = await station.ask({ model: QWEN, input: [[1, 2]] });
    expect(json.error.message).toContain("check_embedding_ctx_length=False");
  });

  test("the one length that a model has may be asked for, and is not sent on", async () => {
    station.double.enqueue(
      jsonAnswer(200, { data: [{ index: 0, embedding: vector(1_024, 0) }], usage: { total_tokens: 1 } }),
    );
    expect((await station.ask({ model: MISTRAL, input: "a", dimensions: 1_024 })).status).toBe(200);
    expect(station.sent()).toEqual({ model: "mistral-embed", input: "a" });
  });

  test("an embedding model is told where it is served by other endpoints", async () => {
    const response = await station.gateway.chat({ model: SMALL, messages: [{ role: "user", content: "a" }] });
    const { error }: Json = await response.json();
    expect([response.status, error.code]).toEqual([400, "model_not_served_here"]);
    expect(error.message).toContain(PATH);
  });
});

test("a body of more than 128 KiB is read on a thread, and served the same", async () => {
  const input = Array.from({ length: 60 }, (_, i) => `${i} ${"word ".repeat(1_000)}`);
  const { status, json } = await station.ask({ model: SMALL, input, encoding_format: "base64" });
  expect([status, json.data.length]).toEqual([200, 60]);
  expect(station.sent().input).toEqual(input);
  const refused = await station.ask({ model: SMALL, input: [...input, ""] });
  expect([refused.status, refused.json.error.param]).toEqual([400, "input[60]"]);
});

describe("a key", () => {
  const issue = async (more: object): Promise<RequestInit> => {
    const { json } = await station.gateway.admin("POST", "/keys", {
      account_id: station.gateway.accountId,
      name: "k",
      ...more,
    });
    return { headers: { authorization: `Bearer ${json.key}` } };
  };

  test("that is none is a 401; one of other models gets a 400", async () => {
    const none = await station.ask(
      { model: SMALL, input: "a" },
      { headers: { authorization: "Bearer sk-none" } },
    );
    expect([none.status, none.json.error.type]).toEqual([401, "auth_error"]);
    const other = await station.ask({ model: SMALL, input: "a" }, await issue({ models: [QWEN] }));
    expect([other.status, other.json.error.code]).toEqual([400, "model_not_allowed"]);
    expect((await station.ask({ model: QWEN, input: "a" }, await issue({ models: [QWEN] }))).status).toBe(
      200,
    );
  });

  test("with limits is told how it stands, and gets a 429 beyond them", async () => {
    const requests = await issue({ limits: { requests_per_minute: 1 } });
    const first = await station.ask({ model: SMALL, input: "a" }, requests);
    expect([first.status, first.headers.get("x-ratelimit-remaining-requests")]).toEqual([200, "0"]);
    const second = await station.ask({ model: SMALL, input: "a" }, requests);
    expect([second.status, second.json.error.type]).toEqual([429, "rate_limit_error"]);
    expect(second.headers.get("retry-after")).toMatch(/^\d+$/);
    const tokens = await issue({ limits: { tokens_per_minute: 100 } });
    const large = await station.ask({ model: SMALL, input: "word ".repeat(200) }, tokens);
    expect([large.status, large.headers.get("x-should-retry")]).toEqual([429, "false"]);
    expect((await station.ask({ model: SMALL, input: "a" }, tokens)).status).toBe(200);
  });
});

test("an order of routes is chosen by a key that may, and by no other", async () => {
  const { double } = station;
  const route = (upstream_id: string, input: number) => ({
    provider: "openai",
    upstream_id,
    cost: { input },
  });
  const routes = [route("dear", 0.02), route("cheap", 0.01)];
  const settings = JSON.stringify({ routing: { models: { [SMALL]: { routes } } } });
  const gateway = await startGateway({ openai: `${double.url}/v1`, settings });
  const ask = async (key: string): Promise<Response> =>
    gateway.post(
      PATH,
      { model: SMALL, input: "a" },
      { headers: { authorization: `Bearer ${key}`, "x-switchyard-route": "cost" } },
    );
  const refused = await ask(gateway.key);
  expect([refused.status, ((await refused.json()) as Json).error.param]).toEqual([400, "x-switchyard-route"]);
  const { accountId: account_id } = gateway;
  const { json } = await gateway.admin("POST", "/keys", { account_id, name: "k", routes: true });
  expect((await ask(json.key)).status).toBe(200);
  expect(double.requests.map((request) => (request.json() as Json).model)).toEqual(["cheap"]);
  await gateway.close();
});

test("the clients' usual addresses lead to it, and a GET is a 405", async () => {
  for (const path of ["/v1/embeddings", "/embeddings", "/api/v1/v1/embeddings", PATH])
    expect((await station.gateway.post(path, { model: SMALL, input: "a" })).status).toBe(200);
  const response = await fetch(`${station.gateway.url}${PATH}`, {
    headers: { authorization: `Bearer ${station.gateway.key}` },
  });
  expect(response.status).toBe(405);
});
