import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import {
  type MessageBlock,
  type MessageForm,
  messageAnswer,
  messageStream,
  messageStreamAnswer,
} from "../upstream/messages-bytes.ts";
import { strictMessages } from "../upstream/strict-messages-format.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";

// The official SDK, unmodified: only its base address and key are set. The upstream is the double, as strict as
// Anthropic is.

const HAIKU = "anthropic/claude-haiku-4.5";
const OPUS = "anthropic/claude-opus-5.5";
const SONNET = "anthropic/claude-sonnet-5.5";
const USAGE = {
  input_tokens: 11,
  output_tokens: 4,
  cache_read_input_tokens: 0,
  cache_creation_input_tokens: 0,
};
/** 11 × 1 + 4 × 5 USD per million, in credits. */
const CREDIT = 0.31;

let double: UpstreamDouble;
let gateway: TestGateway;
let client: Anthropic;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({ anthropic: double.url });
  client = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const strict = strictMessages({
  keys: [UPSTREAM_KEY],
  models: ["claude-haiku-4-5", "claude-sonnet-5-5", "claude-opus-5-5"],
});
const messages = [{ role: "user" as const, content: "Say hello." }];

/** Answers as Anthropic would, plain or streamed as it is asked. */
function answerWith(form: MessageForm): void {
  double.handle((request) => {
    const refused = strict(request);
    if (refused !== undefined) return refused;
    const streamed = (request.json() as { stream?: boolean }).stream === true;
    return streamed ? messageStreamAnswer({ ...form, ping: true }) : messageAnswer(form);
  });
}

const hello: MessageForm = { blocks: [{ type: "text", text: "Hello there." }], usage: USAGE };

for (const [base, more] of [
  ["/api", { apiKey: "key" }],
  ["/api/v1", { apiKey: "key" }],
  ["/api", { authToken: "key" }],
] as const) {
  test(`the SDK with base address ${base} and ${Object.keys(more).join()} gets its answer, plain and streamed`, async () => {
    const credential = "apiKey" in more ? { apiKey: gateway.key } : { authToken: gateway.key, apiKey: null };
    const using = new Anthropic({ baseURL: `${gateway.url}${base}`, maxRetries: 0, ...credential });
    answerWith(hello);
    const plain = await using.messages.create({ model: HAIKU, max_tokens: 50, messages });
    expect(plain.content).toEqual([{ type: "text", text: "Hello there." }] as Json);
    expect(plain).toMatchObject({
      model: HAIKU,
      role: "assistant",
      type: "message",
      stop_reason: "end_turn",
      usage: USAGE,
    });
    expect(plain).toHaveProperty("credit", CREDIT);
    expect(plain._request_id).toStartWith("req_");
    expect(double.requests[0]?.json()).toEqual({ model: "claude-haiku-4-5", max_tokens: 50, messages });
    const final = await using.messages.stream({ model: HAIKU, max_tokens: 50, messages }).finalMessage();
    expect(final).toMatchObject({ model: HAIKU, stop_reason: "end_turn", usage: USAGE });
    expect(final.content).toMatchObject([{ type: "text", text: "Hello there." }]);
  });
}

for (const base of ["/api", "/api/v1"]) {
  test(`models are listed and retrieved with base address ${base}`, async () => {
    const using = new Anthropic({ baseURL: `${gateway.url}${base}`, apiKey: gateway.key, maxRetries: 0 });
    const ids: string[] = [];
    for await (const { id } of using.models.list()) ids.push(id);
    expect(ids).toContain(HAIKU);
    expect(await using.models.retrieve(HAIKU)).toMatchObject({ id: HAIKU, display_name: "Claude Haiku 4.5" });
  });
}

test("streamed, raw: the official events in their order, and the credit on the delta", async () => {
  answerWith(hello);
  const stream = await client.messages.create({ model: HAIKU, max_tokens: 50, messages, stream: true });
  const types: string[] = [];
  let text = "";
  let credit: unknown;
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === "message_start") expect(event.message.model).toBe(HAIKU);
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    if (event.type === "message_delta") credit = (event as Json).credit;
  }
  expect(text).toBe("Hello there.");
  expect(credit).toBe(CREDIT);
  const block = ["content_block_start", ...Array(3).fill("content_block_delta"), "content_block_stop"];
  expect(types).toEqual(["message_start", ...block, "message_delta", "ping", "message_stop"]);
});

/** The answer of one request, plain and by the stream helper: both must say the same. */
async function bothWays(body: Omit<Anthropic.MessageCreateParamsNonStreaming, "stream">): Promise<Json[]> {
  const plain = await client.messages.create(body);
  const streamed = await client.messages.stream(body).finalMessage();
  return [plain, streamed];
}

const weather = {
  name: "weather",
  description: "The weather of a city",
  input_schema: { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] },
};
const calls: readonly MessageBlock[] = [
  { type: "text", text: "I will look." },
  { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Oslo" } },
  { type: "tool_use", id: "toolu_2", name: "weather", input: { city: "Rome" } },
];

test("tools: parallel calls, plain and streamed, and the turn that answers them", async () => {
  answerWith({ blocks: calls, usage: USAGE });
  for (const answer of await bothWays({ model: HAIKU, max_tokens: 50, messages, tools: [weather] })) {
    expect(answer.content).toMatchObject(calls);
    expect(answer.stop_reason).toBe("tool_use");
    expect(double.requests.at(-1)?.json()).toMatchObject({ tools: [weather] });
  }
  answerWith(hello);
  const next = await client.messages.create({
    model: HAIKU,
    max_tokens: 50,
    tools: [weather],
    tool_choice: { type: "auto", disable_parallel_tool_use: false },
    messages: [
      ...messages,
      { role: "assistant", content: calls as Json },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", content: "3 degrees" },
          {
            type: "tool_result",
            tool_use_id: "toolu_2",
            is_error: true,
            content: [
              { type: "text", text: "no such city" },
              { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
            ],
          },
        ],
      },
    ],
  });
  expect(next.content).toMatchObject([{ text: "Hello there." }]);
});

/** An image of one pixel. */
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

test("thinking comes with its signature, and goes back byte for byte, redacted or not", async () => {
  const thought: readonly MessageBlock[] = [
    { type: "thinking", thinking: 'Hm\u2028 "quoted" 😀', signature: "EuQBCkYIBxgCKkA+/x==" },
    { type: "redacted_thinking", data: "EmwKAhgB+/Q==" },
    ...calls,
  ];
  answerWith({ blocks: thought, usage: { ...USAGE, output_tokens_details: { thinking_tokens: 2 } } });
  const thinking = { type: "enabled" as const, budget_tokens: 1_024 };
  const asked = { model: HAIKU, max_tokens: 2_000, messages, tools: [weather], thinking };
  for (const answer of await bothWays(asked)) {
    expect(answer.content).toMatchObject(thought);
    answerWith(hello);
    await client.messages.create({
      ...asked,
      messages: [
        ...messages,
        { role: "assistant", content: answer.content },
        {
          role: "user",
          content: ["toolu_1", "toolu_2"].map((id) => ({
            type: "tool_result",
            tool_use_id: id,
            content: "3",
          })),
        },
      ],
    });
    expect(double.requests.at(-1)?.bodyText).toContain(JSON.stringify(answer.content));
    answerWith({ blocks: thought, usage: USAGE });
  }
});

test("a budget of thinking is put in the words of a model that thinks by effort, and sampling stays here", async () => {
  answerWith(hello);
  const { response } = await client.messages
    .create({
      model: SONNET,
      max_tokens: 9_000,
      messages,
      temperature: 0.5,
      thinking: { type: "enabled", budget_tokens: 5_000, display: "summarized" },
    } as Json)
    .withResponse();
  expect(double.requests.at(-1)?.json()).toEqual({
    model: "claude-sonnet-5-5",
    max_tokens: 9_000,
    messages,
    thinking: { type: "adaptive", display: "summarized" },
    output_config: { effort: "medium" },
  });
  expect(response.headers.get("warning")).toContain("temperature was left out");
  expect(response.headers.get("warning")).toContain("thinking was changed to adaptive");
});

test("whatever sampling and thinking the interface has, each model takes what goes up", async () => {
  answerWith(hello);
  const ways: readonly object[] = [
    { temperature: 2 },
    { temperature: 0, top_p: 0.5, top_k: 3 },
    { top_p: 0 },
    { thinking: { type: "disabled" }, temperature: 1.5 },
    { thinking: { type: "adaptive" } },
    { thinking: { type: "enabled", budget_tokens: 1 }, top_k: 1, top_p: 0.1, temperature: 0 },
    { thinking: { type: "enabled", budget_tokens: 100_000 } },
    { thinking: { type: "adaptive" }, output_config: { effort: "max" } },
    { max_tokens: 1, thinking: { type: "enabled", budget_tokens: 2_000 } },
    { max_tokens: 0 },
  ];
  for (const model of [HAIKU, SONNET, OPUS]) {
    for (const way of ways) {
      const response = await gateway.post("/api/v1/messages", { model, max_tokens: 3_000, messages, ...way });
      expect([model, way, response.status, await response.text()]).toEqual([
        model,
        way,
        200,
        expect.any(String),
      ]);
    }
  }
});

test("images, documents and citations go up as they are, and citations come down", async () => {
  const citation = {
    type: "page_location",
    cited_text: "x",
    document_index: 0,
    start_page_number: 1,
    end_page_number: 2,
  };
  answerWith({ blocks: [{ type: "text", text: "See page 1.", citations: [citation] }], usage: USAGE });
  const content: Anthropic.ContentBlockParam[] = [
    { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
    {
      type: "document",
      title: "A paper",
      source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQK" },
      citations: { enabled: true },
      cache_control: { type: "ephemeral", ttl: "1h" },
    },
    { type: "text", text: "What does it say?" },
  ];
  const body = { model: HAIKU, max_tokens: 50, messages: [{ role: "user" as const, content }] };
  for (const answer of await bothWays(body)) {
    expect(answer.content).toMatchObject([{ type: "text", text: "See page 1.", citations: [citation] }]);
    expect(double.requests.at(-1)?.json()).toMatchObject({ messages: [{ content }] });
  }
});

test("a search and what it found come down, are charged by the piece, and go back as they came", async () => {
  const found: readonly MessageBlock[] = [
    { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "oslo" } },
    {
      type: "web_search_tool_result",
      tool_use_id: "srvtoolu_1",
      content: [
        {
          type: "web_search_result",
          url: "https://example.com",
          title: "T",
          encrypted_content: "Eo8K",
          page_age: null,
        },
      ],
    },
    { type: "text", text: "Found it." },
  ];
  const usage = { ...USAGE, server_tool_use: { web_search_requests: 1, web_fetch_requests: 0 } };
  answerWith({ blocks: found, usage });
  const tools: Anthropic.ToolUnion[] = [{ type: "web_search_20250305", name: "web_search" }];
  const asked = { model: HAIKU, max_tokens: 50, messages, tools };
  for (const answer of await bothWays(asked)) {
    expect(answer.content).toMatchObject(found);
    expect(double.requests.at(-1)?.json()).toMatchObject({ tools: [{ ...tools[0], max_uses: 10 }] });
  }
  // One search is 100 credits beside the tokens.
  expect(await client.messages.create(asked)).toHaveProperty("credit", CREDIT + 100);
  answerWith(hello);
  await client.messages.create({
    ...asked,
    messages: [
      ...messages,
      { role: "assistant", content: found as Json },
      { role: "user", content: "More." },
    ],
  });
  expect(double.requests.at(-1)?.bodyText).toContain(JSON.stringify(found));
});

test("structured output: the schema goes up, and the SDK parses what comes", async () => {
  answerWith({ blocks: [{ type: "text", text: '{"city":"Oslo"}' }], usage: USAGE });
  const schema = { type: "object", properties: { city: { type: "string" } }, additionalProperties: false };
  const parsed = await client.messages.parse({
    model: OPUS,
    max_tokens: 50,
    messages,
    output_config: {
      format: { type: "json_schema", schema, parse: (text: string) => JSON.parse(text) } as Json,
    },
  });
  expect(parsed.parsed_output as Json).toEqual({ city: "Oslo" });
  expect(double.requests.at(-1)?.json()).toMatchObject({
    output_config: { format: { type: "json_schema", schema } },
  });
});

test("the beta client: previews that keep the price go up with their fields, others stay here with a warning", async () => {
  answerWith(hello);
  const { data, response } = await client.beta.messages
    .create({
      model: SONNET,
      max_tokens: 50,
      messages,
      betas: ["context-management-2025-06-27", "output-300k-2026-03-24"],
      context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
      mcp_servers: [{ type: "url", url: "https://example.com/mcp", name: "x" }],
    })
    .withResponse();
  expect(data.content).toMatchObject([{ text: "Hello there." }]);
  const request = double.requests.at(-1);
  expect(request?.header("anthropic-beta")).toBe("context-management-2025-06-27");
  expect(request?.json()).toEqual({
    model: "claude-sonnet-5-5",
    max_tokens: 50,
    messages,
    context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
  });
  expect(response.headers.get("warning")).toContain("output-300k-2026-03-24 was left out");
  expect(response.headers.get("warning")).toContain("mcp_servers was left out");
});

test("no header of the client goes up beside its previews", async () => {
  answerWith(hello);
  await client.messages.create(
    { model: HAIKU, max_tokens: 50, messages },
    {
      headers: {
        "anthropic-version": "2026-10-21",
        "x-secret": "s",
        cookie: "c=1",
        "anthropic-dangerous": "1",
      },
    },
  );
  const names = (double.requests.at(-1)?.headers ?? []).map(([name]) => name.toLowerCase());
  expect(double.requests.at(-1)?.header("anthropic-version")).toBe("2023-06-01");
  expect(double.requests.at(-1)?.header("x-api-key")).toBe(UPSTREAM_KEY);
  for (const name of ["x-secret", "cookie", "authorization", "anthropic-dangerous", "x-stainless-lang"]) {
    expect(names).not.toContain(name);
  }
});

async function failure(call: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  try {
    await call;
  } catch (error) {
    return error as InstanceType<typeof Anthropic.APIError>;
  }
  throw new Error("The call did not fail.");
}

test("errors: each is the SDK's own class, with type and request id, and only what may pass is tried again", async () => {
  const create = (using: Anthropic, body: object) =>
    using.messages.create({ model: HAIKU, max_tokens: 50, messages, ...body });
  const patient = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 1 });
  answerWith(hello);

  const invalid = await failure(create(patient, { top_p: 3 }));
  expect(invalid).toBeInstanceOf(Anthropic.BadRequestError);
  expect(invalid).toMatchObject({ status: 400, type: "invalid_request_error" });
  expect(invalid.message).toContain("top_p");
  expect(invalid.requestID).toStartWith("req_");
  expect(invalid.error).toMatchObject({ type: "error", request_id: invalid.requestID });

  const stranger = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: "sk-nobody", maxRetries: 1 });
  expect(await failure(create(stranger, {}))).toBeInstanceOf(Anthropic.AuthenticationError);

  const searches = [{ type: "web_search_20250305", name: "web_search", max_uses: 500 }];
  const poor = await failure(create(patient, { model: OPUS, tools: searches }));
  expect(poor).toMatchObject({ status: 402, type: "insufficient_credits" });
  expect(double.requests.length).toBe(0);

  const refusing = (status: number, type: string) => (): ReturnType<typeof jsonAnswer> =>
    jsonAnswer(status, { type: "error", error: { type, message: `canary ${UPSTREAM_KEY}` } });
  for (const [status, type, want] of [
    [401, "authentication_error", { status: 502, type: "upstream_error" }],
    [403, "permission_error", { status: 502, type: "upstream_error" }],
    [404, "not_found_error", { status: 502, type: "upstream_error" }],
    [413, "request_too_large", { status: 400, type: "input_too_large" }],
    [529, "overloaded_error", { status: 503, type: "overloaded_error" }],
  ] as const) {
    double.handle(refusing(status, type));
    const error = await failure(create(client, {}));
    expect(error).toMatchObject(want);
    expect(JSON.stringify(error) + error.message).not.toContain("canary");
  }

  double.reset();
  double.enqueue(refusing(529, "overloaded_error")(), messageAnswer(hello));
  expect(await create(patient, {})).toMatchObject({ type: "message" });
  expect(double.requests.length).toBe(2);
});

test("an overload in a stream before its content is a status of its own", async () => {
  const body = [
    'event: message_start\ndata: {"type":"message_start","message":{"model":"x","usage":{"input_tokens":1,"output_tokens":1}}}',
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
  ];
  double.handle(() => sseAnswer(`${body.join("\n\n")}\n\n`));
  const { balance } = await gateway.account();
  const error = await failure(
    client.messages.stream({ model: HAIKU, max_tokens: 50, messages }).finalMessage(),
  );
  expect(error).toMatchObject({ status: 503, type: "overloaded_error" });
  await gateway.settled();
  expect((await gateway.account()).balance).toBe(balance);
});

test("a stream that breaks in the middle raises in the SDK, raw and helper, as the error that it was", async () => {
  const body = messageStream(hello);
  double.handle(() => ({
    ...sseAnswer(body),
    framing: "close" as const,
    end: { at: afterEvent(body, 4), how: "fin" as const },
  }));
  let text = "";
  const raw = async (): Promise<void> => {
    const stream = await client.messages.create({ model: HAIKU, max_tokens: 50, messages, stream: true });
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    }
  };
  const error = await failure(raw());
  expect(text).toBe("Hello th");
  expect(error).toBeInstanceOf(Anthropic.APIError);
  expect(error).toMatchObject({ type: "upstream_error" });
  const helped = await failure(
    client.messages.stream({ model: HAIKU, max_tokens: 50, messages }).finalMessage(),
  );
  expect(helped).toBeInstanceOf(Anthropic.APIError);
});

test("abort: the SDK leaves in mid-stream, upstream is stopped, and what was delivered is charged", async () => {
  const before = await gateway.account();
  const body = messageStream({ ...hello, usage: { input_tokens: 11, output_tokens: 4_000 } });
  const gate = createGate();
  double.handle(() => gateAt(sseAnswer(body), afterEvent(body, 4), gate));
  const stream = client.messages.stream({ model: HAIKU, max_tokens: 5_000, messages });
  stream.on("text", (_, all) => {
    if (all === "Hello th") stream.abort();
  });
  await failure(stream.done());
  const request = await double.waitForRequest(1);
  await double.waitForClientGone(request);
  await gateway.settled();
  const spent = before.balance - (await gateway.account()).balance;
  // 11 tokens of input, and two of output by our own count.
  expect(spent).toBeCloseTo((11 * 1 + 2 * 5) / 100, 6);
  gate.release();
});
