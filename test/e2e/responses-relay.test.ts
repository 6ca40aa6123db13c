import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { ChatOpenAI } from "@langchain/openai";
import OpenAI from "openai";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { sse, sseData } from "../upstream/sse-bytes.ts";

// Responses, relayed to a provider that speaks it: bytes pass, and what is the gateway's or the client's own is put in.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const model = { id: "test/gpt", upstream_id: "gpt-up", max_output: 1_000, prices: { input: 1, output: 2 } };
  const provider = {
    protocols: ["responses"],
    dialect: "native",
    base_url: `${double.url}/v1`,
    api_key: UPSTREAM_KEY,
    models: [model, { ...model, id: "test/search", prices: { ...model.prices, web_search: 0.01 } }],
  };
  gateway = await startGateway({ settings: JSON.stringify({ providers: { test: provider } }) });
});
beforeEach(() => double.reset());
afterAll(async () => {
  await gateway.close();
  await double.close();
});

const USAGE = {
  input_tokens: 8_576,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 4_418 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 8_586,
};
const REASONING = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA1" };
const MESSAGE = {
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "assistant",
  content: [{ type: "output_text", text: "Hi.", annotations: [], logprobs: [] }],
};
const RESPONSE: Json = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-up-2026",
  output: [REASONING, MESSAGE],
  store: false,
  metadata: {},
  usage: USAGE,
};

const events = (...ends: readonly Json[]): Json[] =>
  [
    { type: "response.created", response: { ...RESPONSE, status: "in_progress", output: [], usage: null } },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...MESSAGE, status: "in_progress", content: [] },
    },
    {
      type: "response.content_part.added",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      part: { type: "output_text", text: "", annotations: [] },
    },
    {
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "Hi.",
      obfuscation: "x",
    },
    { type: "response.output_item.done", output_index: 0, item: MESSAGE },
    ...ends,
  ].map((event, i) => ({ ...event, sequence_number: i }));

const completed = { type: "response.completed", response: RESPONSE };
const stream = (list: readonly Json[]) =>
  sseAnswer(sse(list, { eventName: (event) => (event as Json).type }));

async function ask(body: Json = {}): Promise<{ readonly response: Response; readonly sent: Json }> {
  const response = await gateway.post("/api/v1/responses", { model: "test/gpt", input: "hi", ...body });
  return { response, sent: double.requests[0]?.json() };
}

describe("a plain answer", () => {
  test("keeps its bytes but for the model, what it repeats of the request, and the charge", async () => {
    double.enqueue(jsonAnswer(200, RESPONSE));
    const { response, sent } = await ask({ metadata: { a: "b" }, store: true });
    expect(sent).toEqual({
      model: "gpt-up",
      input: "hi",
      store: false,
      include: ["reasoning.encrypted_content"],
    });
    const told: Json = await response.json();
    const credit = ((8_576 + 2 * 10) * 0.01).toFixed(6);
    expect(told).toEqual({
      ...RESPONSE,
      model: "test/gpt",
      store: true,
      metadata: { a: "b" },
      credit: Number(credit),
    });
    expect(Object.keys(told).at(-1)).toBe("credit");
  });

  test("keeps counts of tokens that have no price, and the log tells of them once, plain and streamed", async () => {
    const usage = { ...USAGE, hologram_tokens: 7 };
    const response = { ...RESPONSE, usage };
    double.enqueue(jsonAnswer(200, response));
    const plain: Json = await (await ask()).response.json();
    double.enqueue(stream(events({ type: "response.completed", response })));
    const streamed = sseData(await (await ask({ stream: true })).response.text()).map((data) =>
      JSON.parse(data),
    );
    for (const told of [plain, streamed.at(-1).response])
      expect([told.usage, told.credit]).toEqual([usage, 85.96]);
    await gateway.settled();
    expect(gateway.logs.filter(({ unknown_usage }) => unknown_usage !== undefined)).toMatchObject([
      { level: "error", provider: "test", unknown_usage: ["usage.hologram_tokens"] },
    ]);
  });

  test("that failed is an error, and free", async () => {
    double.enqueue(
      jsonAnswer(200, { ...RESPONSE, status: "failed", error: { code: "server_error", message: "x" } }),
    );
    expect((await ask()).response.status).toBe(502);
  });
});

describe("a stream", () => {
  const play = async (list: readonly Json[]): Promise<Json[]> => {
    double.enqueue(stream(list));
    const { response } = await ask({ stream: true });
    return sseData(await response.text()).map((data) => JSON.parse(data));
  };

  test("keeps its events, and ends with the charge in the last", async () => {
    const told = await play(events(completed));
    expect(told.map(({ type }) => type)).toEqual([...events().map(({ type }) => type), "response.completed"]);
    expect(told[0].response).toMatchObject({ model: "test/gpt", store: true });
    expect(told[3]).toEqual(events()[3]);
    expect(told.at(-1).response).toMatchObject({
      model: "test/gpt",
      output: [REASONING, MESSAGE],
      credit: 85.96,
    });
  });

  test("forwards nothing after the last event, and a keep-alive as a comment", async () => {
    const told = await play([
      { type: "keepalive", sequence_number: 0 },
      ...events(completed, { type: "response.rate_limits.updated" }),
    ]);
    expect(told.at(-1).type).toBe("response.completed");
    expect(told.some(({ type }) => type === "keepalive")).toBe(false);
  });

  test("whose end has no output gets the items that were told", async () => {
    const told = await play(events({ ...completed, response: { ...RESPONSE, output: [] } }));
    expect(told.at(-1).response.output).toEqual([MESSAGE]);
  });

  for (const [name, ends] of [
    ["is cut", []],
    ["tells of an error", [{ type: "error", code: "server_error", message: "x", param: null }]],
    [
      "fails",
      [
        {
          type: "response.failed",
          response: { ...RESPONSE, status: "failed", error: { code: "x", message: "y" } },
        },
      ],
    ],
  ] as const)
    test(`that ${name} ends with both events of a failure, numbered on, and never looks complete`, async () => {
      const told = await play(events(...ends));
      expect(told.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
      const numbers = told.map(({ sequence_number: number }) => number);
      expect(numbers.slice(-2)).toEqual([5, 6]);
      const [error, failed] = told.slice(-2);
      expect(error.error.message).toBe(error.message);
      expect(failed.response).toMatchObject({ status: "failed", output: [MESSAGE], error: error.error });
      expect(failed.response.credit).toBeGreaterThan(0);
    });

  describe("of a server that tells the arguments of a call at its end only", () => {
    const CALL = {
      id: "fc_1",
      type: "function_call",
      status: "completed",
      call_id: "call_1",
      name: "weather",
      arguments: '{"city":"Oslo"}',
    };
    const OTHER = { ...CALL, id: "fc_2", call_id: "call_2", arguments: '{"city":"Rome"}' };
    const begun = { ...RESPONSE, status: "in_progress", output: [], usage: null };
    const at = { item_id: "fc_1", output_index: 0 };
    const done = { type: "response.function_call_arguments.done", ...at, arguments: CALL.arguments };
    const list = (...calls: readonly Json[]): Json[] =>
      [
        { type: "response.created", response: begun },
        ...calls,
        {
          type: "response.completed",
          response: { ...RESPONSE, output: [CALL, OTHER] },
        },
      ].map((event, sequence_number) => ({ sequence_number, ...event }));
    const added = (item: Json, output_index: number): Json => ({
      type: "response.output_item.added",
      output_index,
      item: { ...item, status: "in_progress", arguments: "" },
    });
    const ended = (item: Json, output_index: number): Json => ({
      type: "response.output_item.done",
      output_index,
      item,
    });
    const whole = list(added(CALL, 0), done, ended(CALL, 0), added(OTHER, 1), ended(OTHER, 1), {
      type: "response.in_progress",
      response: begun,
    });

    test("they come in one delta as well, and the events behind it are numbered on", async () => {
      const told = await play(whole);
      const delta = { type: "response.function_call_arguments.delta" };
      const own = [
        { ...delta, ...at, delta: CALL.arguments },
        { ...delta, item_id: "fc_2", output_index: 1, delta: OTHER.arguments },
      ];
      expect(told).toMatchObject(
        [...whole.slice(0, 2), own[0], ...whole.slice(2, 5), own[1], ...whole.slice(5)].map(
          (event, sequence_number) => ({
            ...event,
            sequence_number,
            ...(event.response === undefined
              ? {}
              : { response: { ...event.response, model: "test/gpt", store: true } }),
          }),
        ),
      );
      expect(told.at(-1).response.credit).toBe(85.96);
    });

    test("LangChain reads them", async () => {
      double.handle(() => stream(whole));
      const chat = new ChatOpenAI({
        model: "test/gpt",
        useResponsesApi: true,
        apiKey: gateway.key,
        configuration: { baseURL: `${gateway.url}/api/v1` },
        maxRetries: 0,
      });
      const chunks = await Array.fromAsync(await chat.stream("Where is it warm?"));
      const answer = chunks.reduce((all, chunk) => all.concat(chunk));
      expect(answer.tool_calls?.map(({ args }) => args)).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
    });

    test("where they came before its end, in pieces or in its beginning, nothing is put in", async () => {
      const pieces = ['{"city":', '"Oslo"}'].map((delta) => ({
        type: "response.function_call_arguments.delta",
        ...at,
        delta,
      }));
      const early = { ...added(OTHER, 1), item: OTHER };
      const events = list(added(CALL, 0), early, ...pieces, done, ended(OTHER, 1), ended(CALL, 0));
      const told = await play(events);
      expect(told.map(({ type }) => type)).toEqual(events.map(({ type }) => type));
      expect(told.slice(1, -1)).toEqual(events.slice(1, -1));
    });

    test("a stream that breaks behind them ends with the numbers after theirs", async () => {
      const told = await play(whole.slice(0, 4));
      expect(told.map(({ sequence_number: number }) => number)).toEqual([0, 1, 2, 3, 4, 5, 6]);
      expect(told.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
    });
  });

  test("is read by the official SDK and its helper", async () => {
    double.handle(() => stream(events(completed)));
    const client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
    const final = await client.responses.stream({ model: "test/gpt", input: "hi" }).finalResponse();
    expect([final.output_text, final.model, (final as Json).credit]).toEqual(["Hi.", "test/gpt", 85.96]);
  });
});

describe("a request", () => {
  const FUNCTION = { type: "function", name: "f", parameters: {}, strict: true };

  test("leaves out tools that run at the provider without a price, and says so", async () => {
    double.handle(() => jsonAnswer(200, RESPONSE));
    const { response, sent } = await ask({ tools: [FUNCTION, { type: "web_search" }] });
    expect(sent.tools).toEqual([FUNCTION]);
    expect(response.headers.get("warning")).toContain("web_search runs at the provider");
    const priced = await ask({ model: "test/search", tools: [{ type: "web_search" }] });
    expect(priced.response.status).toBe(200);
    expect(double.requests.at(-1)?.json()).toMatchObject({ tools: [{ type: "web_search" }] });
  });

  test("names no user or cache that another account could share", async () => {
    double.handle(() => jsonAnswer(200, RESPONSE));
    const { sent } = await ask({
      prompt_cache_key: "k",
      safety_identifier: "me",
      client_metadata: { x: "y" },
    });
    expect(sent.prompt_cache_key).toMatch(/^[0-9a-f]{40}$/);
    expect(sent.safety_identifier).toMatch(/^[0-9a-f]{40}$/);
    expect(sent).not.toHaveProperty("client_metadata");
  });

  test("sends up no reasoning that the provider cannot read, nor the ids that are bound to it", async () => {
    double.handle(() => jsonAnswer(200, RESPONSE));
    const user = { role: "user", content: "go on" };
    const call = { id: "fc_1", type: "function_call", call_id: "c", name: "f", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "c", output: "x" };
    const { sent } = await ask({
      input: [
        user,
        { id: "rs_0", type: "reasoning", summary: [] },
        call,
        output,
        REASONING,
        MESSAGE,
        { ...user, id: "item_1" },
      ],
    });
    const { id: _id, ...bare } = call;
    expect(sent.input).toEqual([user, bare, output, REASONING, MESSAGE, user]);
  });

  const refused: readonly (readonly [name: string, body: Json, status: number, code: string])[] = [
    ["for the background", { background: true }, 400, "unsupported_parameter"],
    ["with a conversation", { conversation: "conv_1" }, 400, "unsupported_parameter"],
    ["with a stored prompt", { prompt: { id: "p" } }, 400, "unsupported_parameter"],
    ["in the words of chat completions", { messages: [] }, 400, "unknown_parameter"],
    [
      "that names an answer nobody kept",
      { previous_response_id: "resp_x" },
      400,
      "previous_response_not_found",
    ],
    [
      "that names an item nobody kept",
      { input: [{ type: "item_reference", id: "rs_9" }] },
      404,
      "not_found_error",
    ],
    [
      "for a search alone, without a price",
      { tools: [{ type: "web_search" }] },
      400,
      "invalid_request_error",
    ],
  ];
  for (const [name, body, status, code] of refused)
    test(`${name} is refused before anything is held`, async () => {
      const { response } = await ask(body);
      const { error }: Json = await response.json();
      expect([response.status, error.code, double.requests.length]).toEqual([status, code, 0]);
    });

  test("for a WebSocket is told to post", async () => {
    const response = await fetch(`${gateway.url}/v1/responses`, {
      headers: { authorization: `Bearer ${gateway.key}`, upgrade: "websocket", connection: "upgrade" },
    });
    expect(response.status).toBe(426);
    expect(((await response.json()) as Json).error.message).toContain("POST");
  });
});
