import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import { CITY, expectCity, HAIKU, PDF, IMAGE, priceOf, SAYS_SO, startSandbox } from "./sandbox-answers.ts";

// Messages by the official Anthropic SDK against the sandbox: what goes in beside text, and streams in every way.

let gateway: TestGateway;
let anthropic: Anthropic;

beforeAll(async () => {
  gateway = await startSandbox();
  anthropic = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

const request = {
  model: HAIKU,
  max_tokens: 3_000,
  messages: [{ role: "user" as const, content: "Say hello." }],
};

test("streamed raw: the official events in their order, with the words of the plain answer", async () => {
  const plain = await anthropic.messages.create(request);
  const seen: string[] = [];
  let text = "";
  let last: Json;
  for await (const event of await anthropic.messages.create({ ...request, stream: true })) {
    if (seen.at(-1) !== event.type) seen.push(event.type);
    if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
    if (event.type === "message_delta") last = event;
  }
  expect(seen).toEqual([
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "ping",
    "message_stop",
  ]);
  expect(plain.content).toMatchObject([{ type: "text", text }]);
  expect([last.usage.output_tokens, last.credit]).toEqual([
    plain.usage.output_tokens,
    (plain as Json).credit,
  ]);
});

test("thinking of two tool calls goes back after a stream; a call alone where parallel ones are forbidden", async () => {
  const body = {
    ...request,
    thinking: { type: "enabled" as const, budget_tokens: 1_024 },
    tools: ["get_weather", "get_time"].map((name) => ({ name, input_schema: CITY })),
    messages: [{ role: "user" as const, content: "What is the weather, and what time is it?" }],
  };
  const { content } = await anthropic.messages.stream(body).finalMessage();
  const calls = content.filter((block) => block.type === "tool_use");
  expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
  for (const { input } of calls) expectCity(input);
  const results = calls.map(({ id }, i) => ({
    type: "tool_result" as const,
    tool_use_id: id,
    content: `Result ${i}.`,
  }));
  const turns = [...body.messages, { role: "assistant" as const, content }];
  const next = { ...body, messages: [...turns, { role: "user" as const, content: results }] };
  const text = JSON.stringify((await anthropic.messages.stream(next).finalMessage()).content);
  expect(text).toContain("Result 0.");
  expect(text).toContain("Result 1.");
  const single = await anthropic.messages.create({
    ...body,
    tool_choice: { type: "auto", disable_parallel_tool_use: true },
  });
  expect(single.content.filter(({ type }) => type === "tool_use")).toHaveLength(1);
});

test("an image and a PDF go in, and are counted", async () => {
  const text = { type: "text" as const, text: "Say hello." };
  const base64 = { type: "base64" as const };
  const inputOf = async (...content: Anthropic.ContentBlockParam[]): Promise<number> => {
    const answer = await anthropic.messages.create({ ...request, messages: [{ role: "user", content }] });
    expect(answer.content).toMatchObject([{ text: expect.stringMatching(SAYS_SO) }]);
    return answer.usage.input_tokens;
  };
  const bare = await inputOf(text);
  const image = { ...base64, media_type: "image/png" as const, data: IMAGE };
  expect(await inputOf(text, { type: "image", source: image })).toBeGreaterThan(bare);
  const document = { ...base64, media_type: "application/pdf" as const, data: PDF };
  expect(await inputOf(text, { type: "document", source: document })).toBeGreaterThan(bare);
});

test("a structured output satisfies its schema in a stream, and the SDK parses it", async () => {
  const output_config = { format: { type: "json_schema" as const, schema: CITY } };
  const parsed = await anthropic.messages.parse({
    ...request,
    output_config: { format: jsonSchemaOutputFormat(CITY) },
  });
  // The SDK's helper tells the model of limits of numbers in words, as messages has none in schemas.
  expectCity({ ...(parsed.parsed_output as Json), days: 1 });
  const { content } = await anthropic.messages.stream({ ...request, output_config }).finalMessage();
  expectCity(JSON.parse((content[0] as Json).text));
});

test("output_format needs its preview: with it the output is structured, without it is a 400 that says so", async () => {
  const asked = { ...request, output_format: { type: "json_schema", schema: CITY } };
  const headers = { "anthropic-beta": "structured-outputs-2025-11-13" };
  for (const stream of [false, true]) {
    const { error } = await anthropic.messages.create({ ...asked, stream }).then(
      () => ({ error: undefined }),
      (refusal: Json) => refusal.error,
    );
    expect([error.type, error.param]).toEqual(["invalid_request_error", "output_format"]);
    expect(error.message).toContain("output_config.format");
  }
  const plain = await anthropic.messages.create(asked, { headers });
  expectCity(JSON.parse((plain.content[0] as Json).text));
  const streamed = await anthropic.messages.stream(asked, { headers }).finalMessage();
  expectCity(JSON.parse((streamed.content[0] as Json).text));
});

describe("a stream that does not come to its end", () => {
  test("the SDK leaves it: it is charged as far as it was delivered", async () => {
    const before = (await gateway.account()).balance;
    const stream = anthropic.messages.stream(
      { ...request, max_tokens: 50_000 },
      { headers: { "x-sandbox": "tokens=50000; speed=20" } },
    );
    stream.on("text", () => stream.abort());
    const error = await stream.finalMessage().catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(Anthropic.APIUserAbortError);
    await gateway.settled();
    const paid = before - (await gateway.account()).balance;
    expect(paid).toBeGreaterThan(0);
    expect(paid).toBeLessThan(priceOf(HAIKU, { input: 1_000, output: 5_000 }));
  });

  test("it breaks: the SDK raises, raw and by the helper", async () => {
    const options = { headers: { "x-sandbox": "fail=reset_mid_stream; tokens=200" } };
    const raw = async (): Promise<void> => {
      for await (const _event of await anthropic.messages.create({ ...request, stream: true }, options));
    };
    const helped = (): Promise<unknown> => anthropic.messages.stream(request, options).finalMessage();
    for (const fails of [raw, helped])
      expect(await fails().catch((error: unknown) => error)).toBeInstanceOf(Anthropic.APIError);
    await gateway.settled();
  });
});
