import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { type ChatForm, chatCompletion, chatStream } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { type GeminiForm, geminiAnswer, geminiChunks } from "../upstream/gemini-bytes.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { sse } from "../upstream/sse-bytes.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";
import { STRICT } from "../upstream/strict-profiles.ts";
import { type StrictCheck, strictChatCompletions } from "../upstream/strict.ts";

// Gemini, GPT and DeepSeek asked in messages by the official SDK, unmodified: only its base address and key are set. The
// upstream is the double, in each vendor's own format and as strict as the vendor is.

let double: UpstreamDouble;
let gateway: TestGateway;
let client: Anthropic;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    environment: {
      GEMINI_API_KEY: UPSTREAM_KEY,
      GEMINI_BASE_URL: double.url,
      DEEPSEEK_API_KEY: UPSTREAM_KEY,
      DEEPSEEK_BASE_URL: `${double.url}/v1`,
    },
  });
  client = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

interface Said {
  readonly thinking?: string;
  readonly signature?: string;
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: string }[];
}

interface Vendor {
  readonly model: string;
  readonly strict: StrictCheck;
  isStreamed(request: SeenRequest): boolean;
  plain(said: Said): Json;
  stream(said: Said): Uint8Array;
  /** What of an answer must be in the next request, and of the results behind it. */
  sentBack(said: Said): Json;
  answersIn(body: Json): Json;
  resultsIn(body: Json): Json;
}

const USAGE = {
  prompt_tokens: 11,
  completion_tokens: 5,
  total_tokens: 16,
  prompt_tokens_details: { cached_tokens: 3 },
};
const DETAILS = { completion_tokens_details: { reasoning_tokens: 2 } };

function chatForm({ thinking, text, calls }: Said): ChatForm {
  return {
    ...(thinking === undefined ? {} : { reasoning: [thinking.slice(0, 2), thinking.slice(2)] }),
    ...(text === undefined && calls !== undefined ? {} : { words: [text ?? ""] }),
    ...(calls === undefined
      ? {}
      : {
          toolCalls: calls.map(({ id, name, input }) => ({
            id,
            name,
            arguments: [input.slice(0, 5), input.slice(5)],
          })),
        }),
    usage: { ...USAGE, ...DETAILS },
  };
}

function chatVendor(model: string, profile: keyof typeof STRICT, wantsBack: boolean): Vendor {
  return {
    model,
    strict: strictChatCompletions({ ...STRICT[profile], keys: [UPSTREAM_KEY] }),
    isStreamed: (request) => (request.json() as Json).stream === true,
    plain: (said) => chatCompletion(chatForm(said)),
    stream: (said) => chatStream(chatForm(said)),
    sentBack: ({ thinking, text, calls }) => ({
      ...(wantsBack ? { reasoning_content: thinking } : {}),
      content: text ?? null,
      tool_calls: calls!.map(({ id, name, input }) => ({
        id,
        type: "function",
        function: { name, arguments: input },
      })),
    }),
    answersIn: ({ messages }) =>
      messages
        .filter(({ role }: Json) => role === "assistant")
        .map(({ role: _role, ...message }: Json) => ({ ...message, content: message.content ?? null })),
    resultsIn: ({ messages }) =>
      messages.filter(({ role }: Json) => role === "tool").map(({ tool_call_id: id }: Json) => id),
  };
}

function geminiForm({ thinking, signature, text, calls = [] }: Said): GeminiForm {
  return {
    parts: [
      ...(thinking === undefined ? [] : [{ text: thinking, thought: true }]),
      ...(text === undefined ? [] : [{ text }]),
      ...calls.map(({ id, name, input }, i) => ({
        functionCall: { id, name, args: JSON.parse(input) },
        ...(i === 0 && signature !== undefined ? { thoughtSignature: signature } : {}),
      })),
    ],
    usage: {
      promptTokenCount: 11,
      cachedContentTokenCount: 3,
      candidatesTokenCount: 3,
      thoughtsTokenCount: 2,
      totalTokenCount: 16,
    },
  };
}

const GEMINI: Vendor = {
  model: "google/gemini-3.8-flash",
  strict: strictGenerateContent({ keys: [UPSTREAM_KEY], models: ["gemini-3.8-flash"] }),
  isStreamed: (request) => request.target.includes(":stream"),
  plain: (said) => geminiAnswer(geminiForm(said)),
  stream: (said) => sse(geminiChunks(geminiForm(said))),
  sentBack: ({ thinking: _shown, ...said }) => geminiForm(said).parts,
  answersIn: ({ contents }) =>
    contents.filter(({ role }: Json) => role === "model").map(({ parts }: Json) => parts),
  resultsIn: ({ contents }) =>
    contents.flatMap(({ parts }: Json) =>
      parts.flatMap(({ functionResponse: given }: Json) => (given === undefined ? [] : [given.id])),
    ),
};

const VENDORS: readonly (readonly [string, Vendor])[] = [
  ["Gemini", GEMINI],
  ["GPT", chatVendor("openai/gpt-5.6-luna", "openai", false)],
  ["DeepSeek", chatVendor("deepseek/deepseek-v4-pro", "deepseek", true)],
];

const asked = { role: "user" as const, content: "Say hello." };
const HELLO: Said = { text: "Hello there." };
const tools: Json = [
  {
    name: "weather",
    description: "The weather of a city",
    input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
];
const last = (): Json => double.requests.at(-1)?.json();

describe.each(VENDORS)("%s", (_name, vendor) => {
  const { model } = vendor;
  const answer = (...saids: readonly Said[]): void => {
    double.handle((request): Answer => {
      const said = saids[Math.min(double.requests.length, saids.length) - 1]!;
      return (
        vendor.strict(request) ??
        (vendor.isStreamed(request) ? sseAnswer(vendor.stream(said)) : jsonAnswer(200, vendor.plain(said)))
      );
    });
  };
  const complete = (body: Json, streamed: boolean): Promise<Json> =>
    streamed
      ? client.messages.stream({ model, max_tokens: 4_000, ...body }).finalMessage()
      : client.messages.create({ model, max_tokens: 4_000, ...body });

  for (const streamed of [false, true]) {
    const how = streamed ? "streamed" : "plain";

    test(`${how}: the message arrives with usage in disjoint counts, and the credit`, async () => {
      answer(HELLO);
      const message = await complete({ system: "Be short.", messages: [asked] }, streamed);
      expect(message).toMatchObject({
        type: "message",
        role: "assistant",
        model,
        content: [{ type: "text", text: "Hello there." }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 8, cache_read_input_tokens: 3, output_tokens: 5 },
      });
      expect(message.id).toStartWith("msg_");
      if (!streamed) expect(message.credit).toBeNumber();
    });

    test(`${how}: three rounds of two calls each, thinking on: every answer goes back as it came`, async () => {
      const rounds: Said[] = [1, 2, 3].map((n) => ({
        thinking: `Round ${n}: two cities 😀`,
        signature: btoa(`signature ${n} ~~~???`),
        ...(n === 2 ? { text: "I look on." } : {}),
        calls: [
          { id: `call_${n}a`, name: "weather", input: '{"city":"Oslo","n":12345678}' },
          { id: `functions.weather:${n}`, name: "weather", input: '{"city":"Rome"}' },
        ],
      }));
      answer(...rounds, { text: "Rome." });
      const messages: Json[] = [asked];
      for (let round = 0; round <= rounds.length; round += 1) {
        const message = await complete({ messages, tools, thinking: { type: "adaptive" } }, streamed);
        messages.push({ role: "assistant", content: message.content });
        if (round === rounds.length) {
          expect([message.content.at(-1).text, message.stop_reason]).toEqual(["Rome.", "end_turn"]);
          break;
        }
        expect(message.stop_reason).toBe("tool_use");
        const [first] = message.content;
        expect([first.type, first.thinking]).toEqual(["thinking", rounds[round]!.thinking]);
        const calls = message.content.filter(({ type }: Json) => type === "tool_use");
        expect(calls.map(({ input }: Json) => input)).toEqual([
          { city: "Oslo", n: 12_345_678 },
          { city: "Rome" },
        ]);
        for (const { id } of calls) expect(id).toMatch(/^[a-zA-Z0-9_-]+$/);
        messages.push({
          role: "user",
          content: calls.map(({ id }: Json) => ({ type: "tool_result", tool_use_id: id, content: "3 °C" })),
        });
      }
      expect(vendor.answersIn(last())).toEqual(rounds.map((said) => vendor.sentBack(said)));
      expect(vendor.resultsIn(last())).toEqual(rounds.flatMap(({ calls }) => calls!.map(({ id }) => id)));
    });
  }

  test("streamed: the helper tells each text and each input as it comes", async () => {
    answer({ text: "Look.", calls: [{ id: "call_1", name: "weather", input: '{"city":"Oslo"}' }] });
    const texts: string[] = [];
    const inputs: unknown[] = [];
    const stream = client.messages
      .stream({ model, max_tokens: 99, messages: [asked], tools })
      .on("text", (text) => void texts.push(text))
      .on("inputJson", (_piece, snapshot) => void inputs.push(snapshot));
    await stream.finalMessage();
    expect(texts.join("")).toBe("Look.");
    expect(inputs.at(-1)).toEqual({ city: "Oslo" });
  });

  test("a stream that breaks raises in the SDK, and never looks whole", async () => {
    const body = vendor.stream({
      text: "one two three",
      calls: [{ id: "c", name: "weather", input: '{"city":"Oslo"}' }],
    });
    const cut = { ...sseAnswer(body), framing: "close" as const };
    double.handle(() => ({ ...cut, end: { at: body.length - 330, how: "fin" as const } }));
    const error = await complete({ messages: [asked], tools }, true).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.APIError);
  });

  test("tokens are counted by our own estimate, which says so", async () => {
    const { data, response } = await client.messages
      .countTokens({ model, messages: [asked], tools })
      .withResponse();
    expect(data.input_tokens).toBeGreaterThan(10);
    expect(response.headers.get("x-switchyard-estimate")).toBe("true");
  });

  test("what cannot be said is a 400 that names the field, before the provider is asked", async () => {
    answer(HELLO);
    for (const [param, body] of [
      ["mcp_servers", { mcp_servers: [{ type: "url", url: "https://a.b", name: "a" }] }],
      ["container", { container: "c_1" }],
      ["tools[0].type", { tools: [{ type: "bash_20250124", name: "bash" }] }],
      ["max_tokens", { max_tokens: 0 }],
      ["messages[0].content[0].type", { messages: [{ role: "user", content: [{ type: "hologram" }] }] }],
    ] as const) {
      const error = await complete({ messages: [asked], ...(body as Json) }, false).catch((e: unknown) => e);
      expect(error).toBeInstanceOf(Anthropic.BadRequestError);
      expect(error.error.error).toMatchObject({ type: "invalid_request_error", param });
    }
    expect(double.requests.length).toBe(0);
  });
});

test("a body so large that it is read on a thread: thinking is hidden as asked, and goes back all the same", async () => {
  const [, deepseek] = VENDORS[2]!;
  const said: Said = { thinking: "Hm, so.", text: "It is long." };
  double.handle((request) => deepseek.strict(request) ?? jsonAnswer(200, deepseek.plain(said)));
  const messages: Json[] = [{ role: "user", content: "word ".repeat(500_000) }];
  const body: Json = {
    model: deepseek.model,
    max_tokens: 99,
    thinking: { type: "adaptive", display: "omitted" },
  };
  const first = await client.messages.create({ ...body, messages });
  expect(first.content.map((block: Json) => block.thinking ?? block.text)).toEqual(["", "It is long."]);
  messages.push({ role: "assistant", content: first.content }, asked);
  await client.messages.create({ ...body, messages });
  expect(last().messages[1]).toMatchObject({ content: "It is long.", reasoning_content: "Hm, so." });
});
