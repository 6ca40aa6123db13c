import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import {
  changed,
  CITY,
  expectCity,
  FLASH,
  GPT,
  HAIKU,
  PDF,
  IMAGE,
  priceOf,
  SAYS_SO,
  startSandbox,
} from "./sandbox-answers.ts";

// Chat completions by the official openai SDK against the sandbox: GPT as it is, Claude and Gemini through the same
// translation as with their vendors.

let gateway: TestGateway;
let openai: OpenAI;

beforeAll(async () => {
  gateway = await startSandbox();
  openai = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

type Create = OpenAI.ChatCompletionCreateParamsNonStreaming;
const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Say hello." }];
const tools = ["get_weather", "get_time"].map((name) => ({
  type: "function" as const,
  function: { name, parameters: CITY },
}));
const both = [{ role: "user" as const, content: "What is the weather, and what time is it?" }];

/** The answer, plain or collected by the SDK's helper. */
async function complete(body: Create, streamed: boolean): Promise<Json> {
  if (!streamed) return openai.chat.completions.create(body);
  return openai.chat.completions
    .stream({ ...body, stream: true, stream_options: { include_usage: true } })
    .finalChatCompletion();
}

const refusalOf = (body: object): Promise<Json> =>
  openai.chat.completions.create(body as Create).then(
    () => "It was answered.",
    (error: unknown) => error,
  );

describe.each([GPT, HAIKU, FLASH])("%s by the openai SDK", (model) => {
  test("plain, streamed raw and by the helper: the same words, charged by the usage that they state", async () => {
    const plain = await complete({ model, messages }, false);
    expect(plain.choices[0].message.content).toMatch(SAYS_SO);
    const { prompt_tokens: input, completion_tokens: output } = plain.usage;
    expect(plain.credit).toBe(priceOf(model, { input, output }));
    let text = "";
    const finished: string[] = [];
    let last: Json;
    const stream = await openai.chat.completions.create({ model, messages, stream: true });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      const reason = chunk.choices[0]?.finish_reason;
      if (typeof reason === "string") finished.push(reason);
      last = chunk;
    }
    expect([text, finished]).toEqual([plain.choices[0].message.content, ["stop"]]);
    expect([last.usage.completion_tokens, last.credit]).toEqual([output, plain.credit]);
    const helped = await complete({ model, messages }, true);
    expect(helped.choices[0].message.content).toBe(text);
    expect(helped.usage.completion_tokens).toBe(output);
  });

  for (const streamed of [false, true]) {
    test(`two tools at once, with thinking that goes back with them${streamed ? ", streamed" : ""}`, async () => {
      const body = { model, messages: both, tools, reasoning_effort: "low" as const };
      const called = await complete(body, streamed);
      const [{ message, finish_reason: finish }] = called.choices;
      expect(finish).toBe("tool_calls");
      expect(message.tool_calls.map((call: Json) => call.function.name)).toEqual(["get_weather", "get_time"]);
      for (const call of message.tool_calls) expectCity(JSON.parse(call.function.arguments));
      expect(called.usage.completion_tokens_details.reasoning_tokens).toBeGreaterThan(0);
      const answered = (said: Json): Promise<Json> =>
        complete(
          {
            ...body,
            messages: [
              ...both,
              said,
              ...said.tool_calls.map(({ id }: Json, i: number) => ({
                role: "tool",
                tool_call_id: id,
                content: `Result ${i}.`,
              })),
            ],
          },
          streamed,
        );
      const { content } = (await answered(message)).choices[0].message;
      expect(content).toContain("Result 0.");
      expect(content).toContain("Result 1.");
    });
  }

  test("one call is made where parallel ones are forbidden, or the warning says that they cannot be", async () => {
    const body = { model, messages: both, tools, parallel_tool_calls: false };
    const { data, response } = await openai.chat.completions.create(body).withResponse();
    const warning = response.headers.get("warning") ?? "";
    // Gemini has no such switch.
    if (model === FLASH) expect(warning).toContain("parallel_tool_calls was left out");
    else expect([data.choices[0]!.message.tool_calls?.length, warning]).toEqual([1, ""]);
  });

  test("an image and a PDF go in, and are counted", async () => {
    const text = { type: "text" as const, text: "Say hello." };
    const image = { type: "image_url" as const, image_url: { url: `data:image/png;base64,${IMAGE}` } };
    const file = { filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` };
    const inputOf = async (...content: OpenAI.ChatCompletionContentPart[]): Promise<number> => {
      const answer = await complete({ model, messages: [{ role: "user", content }] }, false);
      expect(answer.choices[0].message.content).toMatch(SAYS_SO);
      return answer.usage.prompt_tokens;
    };
    const bare = await inputOf(text);
    expect(await inputOf(text, image)).toBeGreaterThan(bare);
    expect(await inputOf(text, { type: "file", file })).toBeGreaterThan(bare);
  });

  test("a structured output satisfies its schema, and the SDK parses it", async () => {
    const format = {
      type: "json_schema" as const,
      json_schema: { name: "city", schema: CITY, strict: true },
    };
    const { choices } = await openai.chat.completions.parse({ model, messages, response_format: format });
    const parsed: Json = choices[0]!.message.parsed;
    // Messages has no limits of numbers in schemas: they are told in words there.
    expectCity(model === HAIKU ? { ...parsed, days: 1 } : parsed);
    expect(parsed.days).toBeInteger();
  });

  test("the SDK leaves a stream, which is charged as far as it was delivered", async () => {
    const before = (await gateway.account()).balance;
    const controller = new AbortController();
    const stream = await openai.chat.completions.create(
      { model, messages, stream: true },
      { signal: controller.signal, headers: { "x-sandbox": "tokens=50000; speed=20" } },
    );
    let text = "";
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (text !== "") controller.abort();
    }
    await gateway.settled();
    const paid = before - (await gateway.account()).balance;
    expect(paid).toBeGreaterThan(0);
    expect(paid).toBeLessThan(priceOf(model, { input: 1_000, output: 5_000 }));
  });

  test("a stream that breaks raises in the SDK, raw and by the helper", async () => {
    const headers = { "x-sandbox": "fail=reset_mid_stream; tokens=200" };
    const raw = async (): Promise<void> => {
      const stream = await openai.chat.completions.create({ model, messages, stream: true }, { headers });
      for await (const _chunk of stream);
    };
    const helped = (): Promise<unknown> =>
      openai.chat.completions.stream({ model, messages }, { headers }).finalChatCompletion();
    expect(await raw().catch((error: unknown) => error)).toBeInstanceOf(OpenAI.APIError);
    expect(await helped().catch((error: unknown) => error)).toBeInstanceOf(OpenAI.OpenAIError);
    await gateway.settled();
  });

  for (const [fail, status, tries] of [
    ["rate_limit", 429, 2],
    ["overloaded", 503, 2],
    ["timeout", 504, 2],
    ["moderation", 400, 1],
  ] as const)
    test(`fail=${fail} is a ${status}, asked ${tries} times, for nothing`, async () => {
      const before = (await gateway.account()).balance;
      let asked = 0;
      const counted = (...args: Parameters<typeof fetch>): Promise<Response> => {
        asked += 1;
        return fetch(...args);
      };
      const error: Json = await openai
        .withOptions({ maxRetries: 1, fetch: Object.assign(counted, { preconnect: fetch.preconnect }) })
        .chat.completions.create({ model, messages }, { headers: { "x-sandbox": `fail=${fail}` } })
        .catch((cause: unknown) => cause);
      expect([asked, error.status, error.headers.get("x-switchyard-provider")]).toEqual([
        tries,
        status,
        "sandbox",
      ]);
      await gateway.settled();
      expect((await gateway.account()).balance).toBe(before);
    });
});

describe.each([HAIKU, FLASH])("as with its vendor, %s", (model) => {
  test("is told of an order that is not known, and answers as long as it is ordered", async () => {
    const ask = (orders: string): Promise<Json> =>
      openai.chat.completions
        .create({ model, messages }, { headers: { "x-sandbox": orders } })
        .catch((error: unknown) => error as OpenAI.ChatCompletion);
    expect(await ask("fails=never")).toMatchObject({ status: 400, param: "x-sandbox" });
    expect((await ask("tokens=300")).usage.completion_tokens).toBe(300);
  });

  test.each([
    ["logprobs", { logprobs: true }],
    ["functions", { functions: [{ name: "f" }] }],
    ["modalities", { modalities: ["text", "audio"] }],
    ["n", { n: model === HAIKU ? 3 : 9 }],
  ])("is asked for no %s", async (param, body) => {
    expect(await refusalOf({ model, messages, ...body })).toMatchObject({ status: 400, param });
  });

  test("takes thinking and signatures back as they were, and refuses others", async () => {
    const answer = await complete({ model, messages: both, tools, reasoning_effort: "low" }, false);
    const { message } = answer.choices[0];
    const results = message.tool_calls.map(({ id }: Json) => ({
      role: "tool",
      tool_call_id: id,
      content: "Clear.",
    }));
    const text = JSON.stringify(message);
    const signature = /"(?:thought_)?signature":"([^"]+)"/.exec(text)![1]!;
    const back = (said: string): object => ({
      model,
      tools,
      reasoning_effort: "low",
      messages: [...both, JSON.parse(said), ...results],
    });
    expect(await refusalOf(back(text))).toBe("It was answered.");
    expect(await refusalOf(back(text.replaceAll(signature, changed(signature))))).toMatchObject({
      status: 400,
      type: "invalid_request_error",
    });
  });
});
