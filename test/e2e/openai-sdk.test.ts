import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import OpenAI from "openai";
import { chatCompletion, chatStream, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { createGate } from "../upstream/gate.ts";
import { gateAt } from "../upstream/faults.ts";
import { jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { strictChatCompletions } from "../upstream/strict.ts";
import { STRICT } from "../upstream/strict-profiles.ts";
import { startGateway, UPSTREAM_KEY, type TestGateway } from "../gateway/gateway.ts";

// The official SDK, unmodified: only its base address and key are set. The upstream is the double, as strict as
// OpenAI's reasoning models are.

const MODEL = "openai/gpt-5.6-luna";
const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
/** 11 × 0.2 + 4 × 1.2 USD per million, in credits. */
const CREDIT = 0.07;

let double: UpstreamDouble;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({ openai: `${double.url}/v1` });
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const strict = strictChatCompletions({ ...STRICT.openai, keys: [UPSTREAM_KEY], models: ["gpt-5.6-luna"] });
const messages = [{ role: "user" as const, content: "Say hello." }];

test("plain: the completion arrives with its credit, and upstream accepted what it was sent", async () => {
  double.handle(
    (request) => strict(request) ?? jsonAnswer(200, chatCompletion({ words: ["Hel", "lo."], usage: USAGE })),
  );
  const completion = await client.chat.completions.create({ model: MODEL, messages, max_tokens: 50 });
  expect(completion.choices[0]?.message.content).toBe("Hello.");
  expect(completion.model).toBe(MODEL);
  expect(completion.usage).toMatchObject(USAGE);
  expect(completion).toHaveProperty("credit", CREDIT);
  expect(completion._request_id).toStartWith("req_");
  expect(double.requests[0]?.json()).toEqual({ model: "gpt-5.6-luna", messages, max_completion_tokens: 50 });
});

test("streamed, raw: chunks as they come, usage once, and every chunk has choices", async () => {
  double.handle((request) => strict(request) ?? chatStreamAnswer({ words: ["Hel", "lo."], usage: USAGE }));
  const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true });
  let text = "";
  let credit: unknown;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    if ("credit" in chunk) credit = chunk.credit;
    expect(chunk.model).toBe(MODEL);
  }
  expect(text).toBe("Hello.");
  expect(credit).toBe(CREDIT);
});

test("streamed, helper: the final completion has text, finish reason and usage", async () => {
  double.handle((request) => strict(request) ?? chatStreamAnswer({ words: ["Hel", "lo."], usage: USAGE }));
  const runner = client.chat.completions.stream({
    model: MODEL,
    messages,
    stream_options: { include_usage: true },
  });
  const completion = await runner.finalChatCompletion();
  expect(completion.choices[0]?.message.content).toBe("Hello.");
  expect(completion.choices[0]?.finish_reason).toBe("stop");
  expect(completion.usage).toMatchObject(USAGE);
});

const tools = [
  {
    type: "function" as const,
    function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  },
];
const toolCalls = [
  { id: "call_1", name: "weather", arguments: ['{"city":', '"Oslo"}'] },
  { id: "call_2", name: "weather", arguments: ['{"city":"Rome"}'] },
];

test("tools: two parallel calls, plain and streamed, and the turn that answers them", async () => {
  double.handle((request) => {
    const refused = strict(request);
    if (refused !== undefined) return refused;
    const form = { toolCalls, finishReason: "tool_calls", usage: USAGE };
    return (request.json() as { stream?: boolean }).stream === true
      ? chatStreamAnswer(form)
      : jsonAnswer(200, chatCompletion(form));
  });
  const plain = await client.chat.completions.create({ model: MODEL, messages, tools });
  const streamed = await client.chat.completions
    .stream({ model: MODEL, messages, tools })
    .finalChatCompletion();
  for (const completion of [plain, streamed]) {
    const calls = completion.choices[0]?.message.tool_calls ?? [];
    expect(
      calls.map((call) =>
        call.type === "function" ? [call.id, call.function.name, call.function.arguments] : [],
      ),
    ).toEqual(toolCalls.map((call) => [call.id, call.name, call.arguments.join("")]));
    expect(completion.choices[0]?.finish_reason).toBe("tool_calls");
  }
  double.handle(
    (request) => strict(request) ?? jsonAnswer(200, chatCompletion({ words: ["Cold."], usage: USAGE })),
  );
  const answered = [
    ...messages,
    plain.choices[0]!.message,
    { role: "tool" as const, tool_call_id: "call_1", content: "3 degrees" },
    { role: "tool" as const, tool_call_id: "call_2", content: "21 degrees" },
  ];
  const next = await client.chat.completions.create({ model: MODEL, messages: answered, tools });
  expect(next.choices[0]?.message.content).toBe("Cold.");
});

test("errors: each is the SDK's own class, with type and request id", async () => {
  const failure = async (call: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> => {
    try {
      await call;
    } catch (error) {
      return error as InstanceType<typeof OpenAI.APIError>;
    }
    throw new Error("The call did not fail.");
  };
  const create = (using: OpenAI, body: object) =>
    using.chat.completions.create({ model: MODEL, messages, ...body } as Parameters<
      typeof using.chat.completions.create
    >[0]);

  const invalid = await failure(create(client, { temperature: 3 }));
  expect(invalid).toBeInstanceOf(OpenAI.BadRequestError);
  expect(invalid).toMatchObject({ status: 400, type: "invalid_request_error", param: "temperature" });
  expect(invalid.requestID).toStartWith("req_");

  const stranger = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: "sk-nobody", maxRetries: 0 });
  expect(await failure(create(stranger, {}))).toBeInstanceOf(OpenAI.AuthenticationError);

  const poor = await failure(
    create(client, { model: "openai/gpt-6-astra", max_completion_tokens: 128_000, n: 128 }),
  );
  expect(poor).toMatchObject({ status: 402, type: "insufficient_credits" });

  double.handle(() =>
    jsonAnswer(401, {
      error: { message: `Incorrect API key provided: ${UPSTREAM_KEY}`, code: "invalid_api_key" },
    }),
  );
  const upstream = await failure(create(client, {}));
  expect(upstream).toBeInstanceOf(OpenAI.InternalServerError);
  expect(upstream).toMatchObject({ status: 502, type: "upstream_error" });
  expect(JSON.stringify(upstream) + upstream.message).not.toContain("canary");
});

test("an overloaded provider is retried by the SDK as Retry-After says, and then answers", async () => {
  const patient = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 1 });
  double.enqueue(
    jsonAnswer(429, { error: { message: "slow down", type: "rate_limit_exceeded" } }),
    jsonAnswer(200, chatCompletion({ words: ["Now."], usage: USAGE })),
  );
  const completion = await patient.chat.completions.create({ model: MODEL, messages });
  expect(completion.choices[0]?.message.content).toBe("Now.");
  expect(double.requests.length).toBe(2);
});

test("a stream that breaks in the middle raises in the SDK, raw and helper", async () => {
  const body = chatStream({ words: ["Hel", "lo."], usage: USAGE });
  const cut = {
    ...sseAnswer(body),
    framing: "close" as const,
    end: { at: afterEvent(body, 2), how: "fin" as const },
  };
  double.handle(() => cut);
  const read = async (): Promise<string> => {
    let text = "";
    for await (const chunk of await client.chat.completions.create({
      model: MODEL,
      messages,
      stream: true,
    })) {
      text += chunk.choices[0]?.delta.content ?? "";
    }
    return text;
  };
  const raw = await read().catch((error: unknown) => error);
  expect(raw).toBeInstanceOf(OpenAI.APIError);
  const helped = await client.chat.completions
    .stream({ model: MODEL, messages })
    .finalChatCompletion()
    .catch((error: unknown) => error);
  expect(helped).toBeInstanceOf(OpenAI.APIError);
});

test("abort: the SDK leaves in mid-stream, upstream is stopped, and what was delivered is charged", async () => {
  const before = await gateway.account();
  const body = chatStream({ words: ["one ", "two ", "three "], usage: USAGE });
  const gate = createGate();
  double.handle(() => gateAt(sseAnswer(body), afterEvent(body, 3), gate));
  const controller = new AbortController();
  const stream = await client.chat.completions.create(
    { model: MODEL, messages, stream: true },
    { signal: controller.signal },
  );
  let text = "";
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta.content ?? "";
    if (text === "one two ") controller.abort();
  }
  const request = await double.waitForRequest(1);
  await double.waitForClientGone(request);
  await gateway.settled();
  const spent = before.balance - (await gateway.account()).balance;
  expect(spent).toBeGreaterThan(0);
  expect(spent).toBeLessThan(CREDIT);
  gate.release();
});

test("models: listed and retrieved, with the slash encoded as the SDK does", async () => {
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  expect(ids).toContain(MODEL);
  expect(await client.models.retrieve(MODEL)).toMatchObject({ id: MODEL, object: "model" });
});
