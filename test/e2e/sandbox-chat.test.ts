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

describe("as with OpenAI, whose fields all go up", () => {
  const functions = ["get_weather", "get_time"].map((name) => ({ name, parameters: CITY }));
  // Of several one is called: the words that came before tools have no place for more.
  const asking = both;

  for (const streamed of [false, true])
    test(`functions are called and answered in the words that came before tools${streamed ? ", streamed" : ""}`, async () => {
      const called = await complete({ model: GPT, messages: asking, functions }, streamed);
      const [{ message, finish_reason: finish }] = called.choices;
      expect([finish, message.function_call.name, message.tool_calls]).toEqual([
        "function_call",
        "get_weather",
        undefined,
      ]);
      expectCity(JSON.parse(message.function_call.arguments));
      const result = { role: "function" as const, name: "get_weather", content: "Clear as glass." };
      const answered = await complete(
        { model: GPT, messages: [...asking, message, result], functions },
        streamed,
      );
      expect(answered.choices[0].message.content).toContain("Clear as glass.");
    });

  test("a function is called where it is forced, and none where they are forbidden", async () => {
    const forced = await complete(
      { model: GPT, messages, functions, function_call: { name: "get_weather" } },
      false,
    );
    expect(forced.choices[0].finish_reason).toBe("function_call");
    const none = await complete({ model: GPT, messages: asking, functions, function_call: "none" }, false);
    expect(none.choices[0].message.content).toMatch(SAYS_SO);
  });

  test("a custom tool is called with text, of its grammar where that is a regular expression", async () => {
    const format = { type: "grammar", grammar: { syntax: "regex", definition: "^[a-c]{3}-\\d+$" } };
    const custom = { type: "custom", custom: { name: "shell", format } };
    const body = {
      model: GPT,
      messages,
      tools: [custom],
      tool_choice: { type: "custom", custom: { name: "shell" } },
    };
    for (const streamed of [false, true]) {
      const response = await gateway.chat({ ...body, stream: streamed });
      const text = await response.text();
      const inputs = [...text.matchAll(/"input":"([^"]*)"/g)].map(([, input]) => input).join("");
      expect([response.status, inputs]).toEqual([200, expect.stringMatching(/^[a-c]{3}-\d+$/)]);
      expect(text).toContain('"finish_reason":"tool_calls"');
    }
  });

  test("logprobs come for every token, plain and streamed, with as many others as were asked for", async () => {
    const body = { model: GPT, messages, logprobs: true, top_logprobs: 2 };
    for (const streamed of [false, true]) {
      const { message, logprobs } = (await complete(body, streamed)).choices[0];
      expect(logprobs.content.map(({ token }: Json) => token).join("")).toBe(message.content);
      for (const { logprob, top_logprobs: top } of logprobs.content)
        expect([logprob <= 0, top.length]).toEqual([true, 2]);
    }
  });

  test("hints are taken without a word", async () => {
    const hints = {
      prompt_cache_key: "a",
      verbosity: "low",
      safety_identifier: "b",
      store: true,
      metadata: { c: "d" },
    };
    const { response } = await openai.chat.completions
      .create({ model: GPT, messages, ...hints } as Create)
      .withResponse();
    expect([response.status, response.headers.get("warning")]).toEqual([200, null]);
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
    ...(model === HAIKU ? ([["logprobs", { logprobs: true }]] as const) : []),
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
