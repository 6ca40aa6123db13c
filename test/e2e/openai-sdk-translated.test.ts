import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { createDatedClock } from "../gateway/dated-clock.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { spentBy } from "../gateway/spent.ts";
import { sseAnswer } from "../upstream/answer.ts";
import { afterEvent } from "../upstream/cuts.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { geminiPlain } from "../upstream/gemini-bytes.ts";
import { strictGenerateContent } from "../upstream/strict-gemini.ts";
import {
  answerInTurn,
  answerOf,
  creditOf,
  HELLO,
  roundOf,
  type Said,
  VENDORS,
} from "./translated-vendors.ts";

// Claude and Gemini asked in chat completions by the official SDK, unmodified: only its base address and key are set.
// The upstream is the double, in each vendor's own format and as strict as the vendor is.

let double: UpstreamDouble;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  gateway = await startGateway({
    clock: createDatedClock(),
    anthropic: double.url,
    environment: { GEMINI_API_KEY: UPSTREAM_KEY, GEMINI_BASE_URL: double.url },
  });
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

type Create = OpenAI.ChatCompletionCreateParamsNonStreaming;

const asked = { role: "user" as const, content: "Say hello." };
const SIGNATURE = "EuQBCkYIBxgCKkA+/w==";
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const tools = [
  {
    type: "function" as const,
    function: {
      name: "weather",
      description: "The weather of a city",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    },
  },
];

/** The answer to one request, plain or collected by the SDK's own helper. */
async function complete(body: Create, streamed: boolean): Promise<Json> {
  if (!streamed) return client.chat.completions.create(body);
  const { stream: _, ...rest } = body;
  return client.chat.completions.stream(rest).finalChatCompletion();
}

const last = (): Json => double.requests.at(-1)?.json();

describe.each(VENDORS)("%s", (_name, vendor) => {
  const { model } = vendor;
  const answer = (...saids: readonly Said[]): void => answerInTurn(double, vendor, saids);

  test("plain: the completion arrives with usage and credit, the price times what was used", async () => {
    answer(HELLO);
    const spent = await spentBy(gateway, async () => {
      const completion = await client.chat.completions.create({
        model,
        messages: [{ role: "system", content: "Be short." }, asked],
        max_tokens: 50,
        temperature: 0.5,
        stop: ["x"],
      });
      expect(completion).toMatchObject({
        object: "chat.completion",
        model,
        choices: [
          { index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hello there." } },
        ],
        usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 },
        credit: creditOf(vendor, HELLO),
      });
      expect(completion._request_id).toStartWith("req_");
    });
    expect(spent).toBe(creditOf(vendor, HELLO));
  });

  test("streamed, raw: usage and credit once at the end, and what was thought in one piece", async () => {
    const said: Said = { thinking: "Hm, a greeting.", signature: SIGNATURE, ...HELLO, thought: 6 };
    answer(said);
    const stream = await client.chat.completions.create({
      model,
      messages: [asked],
      reasoning_effort: "low",
      max_tokens: 4_000,
      stream: true,
    });
    let text = "";
    let thought = "";
    const tail: Json[] = [];
    const finished: Json[] = [];
    const details: Json[] = [];
    for await (const chunk of stream) {
      expect(chunk.model).toBe(model);
      const { delta, finish_reason: finish } = (chunk.choices[0] as Json) ?? { delta: {} };
      text += delta.content ?? "";
      thought += delta.reasoning_content ?? "";
      if (delta.reasoning_details !== undefined) details.push(delta.reasoning_details);
      if (finish !== null && finish !== undefined) finished.push(finish);
      if (chunk.usage !== undefined) tail.push(chunk);
    }
    expect([text, thought, finished]).toEqual(["Hello there.", said.thinking!, ["stop"]]);
    expect(details.length).toBe(1);
    expect(details[0]).toMatchObject([{ type: "thinking", thinking: said.thinking, index: 0 }]);
    expect(tail.map(({ choices, credit }) => [choices.length, credit])).toEqual([
      [0, undefined],
      [0, creditOf(vendor, said)],
    ]);
    expect(tail[0].usage).toMatchObject({
      prompt_tokens: 11,
      completion_tokens: 10,
      completion_tokens_details: { reasoning_tokens: 6 },
    });
  });

  for (const streamed of [false, true]) {
    test(`four rounds of two calls each, thinking on: every answer goes back as it came${streamed ? ", streamed" : ""}`, async () => {
      const rounds = [1, 2, 3, 4].map(roundOf);
      const end: Said = { text: "Rome.", input: 500, output: 2 };
      answer(...rounds, end);
      const messages: Json[] = [asked];
      let credits = 0;
      const spent = await spentBy(gateway, async () => {
        for (let round = 0; round <= rounds.length; round += 1) {
          const completion = await complete(
            {
              model,
              messages: messages as Create["messages"],
              tools,
              reasoning_effort: "low",
              max_tokens: 4_000,
            },
            streamed,
          );
          const [{ message, finish_reason: finish }] = completion.choices;
          credits += completion.credit;
          messages.push(message);
          if (round === rounds.length) {
            expect([message.content, finish]).toEqual(["Rome.", "stop"]);
            break;
          }
          expect(finish).toBe("tool_calls");
          const calls = message.tool_calls.map((call: Json) => [
            call.id,
            JSON.parse(call.function.arguments),
          ]);
          expect(calls).toEqual(rounds[round]!.calls!.map(({ id, input }) => [id, input]));
          // A client may answer in any order.
          for (const [id, { city }] of calls.toReversed())
            messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify({ city, celsius: 3 }) });
        }
      });
      expect(double.requests.length).toBe(5);
      expect(vendor.answersIn(last())).toEqual(rounds.map((said) => vendor.sentBack(said)) as Json);
      expect(vendor.resultsIn(last())).toEqual(rounds.map(({ calls }) => calls!.map(({ id }) => id)));
      const due = [...rounds, end].reduce((sum, said) => sum + creditOf(vendor, said), 0);
      expect(spent).toBeCloseTo(due, 6);
      expect(credits).toBeCloseTo(due, 6);
    });
  }

  test("images and a PDF go in, in the vendor's own words", async () => {
    answer(HELLO);
    await client.chat.completions.create({
      model,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
            { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
            {
              type: "file",
              file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0xLjQK" },
            },
          ],
        },
      ],
    });
    const { messages, contents } = last();
    const want =
      messages === undefined
        ? [
            { text: "What is this?" },
            { inlineData: { mimeType: "image/png", data: PIXEL } },
            { fileData: { mimeType: "image/jpeg", fileUri: "https://example.com/a.jpg" } },
            { inlineData: { mimeType: "application/pdf", data: "JVBERi0xLjQK" } },
          ]
        : [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
            { type: "image", source: { type: "url", url: "https://example.com/a.jpg" } },
            {
              type: "document",
              title: "a.pdf",
              source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQK" },
            },
          ];
    expect(messages?.[0].content ?? contents[0].parts).toEqual(want);
  });

  test("structured output: the schema goes in, and the SDK's helper parses what comes out", async () => {
    answer({ text: '{"city":"Oslo"}', input: 11, output: 4 });
    const schema = {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    };
    const completion = await client.chat.completions.parse({
      model,
      messages: [asked],
      response_format: { type: "json_schema", json_schema: { name: "place", strict: true, schema } },
    });
    expect(completion.choices[0]?.message.parsed).toMatchObject({ city: "Oslo" });
    const { output_config: config, generationConfig } = last();
    expect(config?.format.schema ?? generationConfig.responseJsonSchema).toEqual(schema);
  });

  const failure = (body: object, using = client): Promise<Json> =>
    using.chat.completions
      .create({ model, messages: [asked], ...body } as Create)
      .then(() => new Error("It did not fail."))
      .catch((error: unknown) => error);

  test("what cannot be said is the SDK's BadRequestError with the field, before the provider is asked", async () => {
    answer(HELLO);
    for (const [param, body] of [
      ["n", { n: 9 }],
      vendor.model.startsWith("anthropic/")
        ? (["logprobs", { logprobs: true }] as const)
        : (["top_logprobs", { logprobs: true, top_logprobs: 21 }] as const),
      ["functions", { functions: [{ name: "f" }] }],
      ["modalities", { modalities: ["text", "audio"] }],
      ["messages[0].content[0].type", { messages: [{ role: "user", content: [{ type: "hologram" }] }] }],
    ] as const) {
      const error = await failure(body);
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error).toMatchObject({ status: 400, type: "invalid_request_error", param });
      expect(error.requestID).toStartWith("req_");
    }
    expect(double.requests.length).toBe(0);
  });

  test("what only helps is left out, and the warning header names it", async () => {
    answer(HELLO);
    const { response } = await client.chat.completions
      .create({ model, messages: [asked], user: "u".repeat(300), seed: 2 ** 40, store: true, logit_bias: {} })
      .withResponse();
    const warning = response.headers.get("warning") ?? "";
    for (const name of ["user or safety_identifier", "seed", "store", "logit_bias"])
      expect(warning).toContain(`${name} was left out`);
  });

  test("a refusal of the provider is a 400 for the client, and costs nothing", async () => {
    double.handle(() => vendor.refusal);
    const spent = await spentBy(gateway, async () => {
      const error = await failure({});
      expect(error).toBeInstanceOf(OpenAI.BadRequestError);
      expect(error.message).toContain("too odd");
    });
    expect(spent).toBe(0);
  });

  test("an overloaded provider is a 503, which the SDK tries again, and then answers", async () => {
    double.handle(() => vendor.overloaded);
    const error = await failure({});
    expect(error).toMatchObject({ status: 503, type: "overloaded_error" });
    double.reset();
    double.handle((request) =>
      double.requests.length === 1 ? vendor.overloaded : answerOf(vendor, request, HELLO),
    );
    const patient = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 1 });
    const completion = await patient.chat.completions.create({ model, messages: [asked] });
    expect(completion.choices[0]?.message.content).toBe("Hello there.");
    expect(double.requests.length).toBe(2);
  });

  const LONG: Said = { text: "one two three four five six seven", input: 11, output: 400 };

  test("a stream that breaks in the middle raises in the SDK, raw and helper", async () => {
    const body = vendor.stream({ ...LONG, thinking: "Hm.", signature: SIGNATURE });
    const cut = { ...sseAnswer(body), framing: "close" as const };
    double.handle(() => ({ ...cut, end: { at: body.length - 120, how: "fin" as const } }));
    const raw = async (): Promise<void> => {
      const stream = await client.chat.completions.create({ model, messages: [asked], stream: true });
      for await (const chunk of stream) void chunk;
    };
    const helper = () => client.chat.completions.stream({ model, messages: [asked] }).finalChatCompletion();
    for (const read of [raw, helper])
      expect(await read().catch((error: unknown) => error)).toBeInstanceOf(OpenAI.APIError);
  });

  test("abort: the SDK leaves in mid-stream, upstream is stopped, and what was delivered is charged", async () => {
    const said: Said = { ...LONG, thinking: "Hm, well.", signature: SIGNATURE };
    const body = vendor.stream(said);
    const gate = createGate();
    const controller = new AbortController();
    double.handle(() => gateAt(sseAnswer(body), afterEvent(body, vendor.eventsToFirstWord), gate));
    const spent = await spentBy(gateway, async () => {
      const stream = await client.chat.completions.create(
        { model, messages: [asked], stream: true },
        { signal: controller.signal },
      );
      for await (const chunk of stream) {
        const delta: Json = chunk.choices[0]?.delta ?? {};
        if ((delta.content ?? "") + (delta.reasoning_content ?? "") !== "") controller.abort();
      }
      await double.waitForClientGone(await double.waitForRequest(1));
    });
    expect(spent).toBeGreaterThan(0);
    expect(spent).toBeLessThan(creditOf(vendor, said));
    gate.release();
  });
});

test("an image comes out of Gemini, and goes back in the next turn with its signature byte for byte", async () => {
  const strict = strictGenerateContent({ keys: [UPSTREAM_KEY], models: ["gemini-3-pro-image"] });
  const image = { inlineData: { mimeType: "image/png", data: PIXEL }, thoughtSignature: SIGNATURE };
  const text = { text: "Here it is.", thoughtSignature: btoa("of the text >>>???") };
  const usage = {
    promptTokenCount: 10,
    candidatesTokenCount: 1_130,
    candidatesTokensDetails: [{ modality: "IMAGE", tokenCount: 1_120 }],
    totalTokenCount: 1_140,
  };
  double.handle((request) => strict(request) ?? geminiPlain({ parts: [text, image], usage }));
  const body = { model: "google/gemini-3-pro-image", modalities: ["text", "image"], messages: [asked] };
  const completion: Json = await client.chat.completions.create(body as unknown as Create);
  const [{ message }] = completion.choices;
  expect(message.content).toBe("Here it is.");
  expect(message.images.length).toBe(1);
  const { url } = message.images[0].image_url;
  expect(url).toMatch(/^data:image\/png;thought_signature=[^;,]+;base64,/);
  expect(url.slice(url.indexOf(",") + 1)).toBe(PIXEL);
  // 10 × 2 + 10 × 12 + 1,120 × 120 USD a million.
  expect(completion.credit).toBe(1_345.4);

  const more = [asked, message, { role: "user", content: "Bluer." }];
  await client.chat.completions.create({ ...body, messages: more } as unknown as Create);
  expect(last().contents).toEqual([
    { role: "user", parts: [{ text: "Say hello." }] },
    { role: "model", parts: [text, image] },
    { role: "user", parts: [{ text: "Bluer." }] },
  ]);
  const streamed = await client.chat.completions
    .create({ ...body, stream: true } as unknown as Create)
    .catch((error: unknown) => error);
  expect(streamed).toMatchObject({ status: 400, param: "stream" });
});
