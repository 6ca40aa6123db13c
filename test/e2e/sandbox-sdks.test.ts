import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { rawImageSizeOf } from "../../src/core/media/image-size.ts";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import {
  changed,
  CITY,
  expectCity,
  GPT,
  HAIKU,
  KIMI,
  IMAGES,
  priceOf,
  SAYS_SO,
  startSandbox,
} from "./sandbox-answers.ts";

// No provider's key is set: the official SDKs, unmodified, against the sandbox, which reaches them through the same code
// as any provider.

let gateway: TestGateway;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  gateway = await startSandbox();
  openai = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: `${gateway.url}/api`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(() => gateway.close());

describe("chat completions by the openai SDK", () => {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Say hello." }];

  test("plain and streamed are the same words, charged by the usage that they state", async () => {
    const before = (await gateway.account()).balance;
    const plain = await openai.chat.completions.create({ model: GPT, messages });
    expect(plain.choices[0]!.message.content).toMatch(SAYS_SO);
    expect(plain.choices[0]!.finish_reason).toBe("stop");
    const { prompt_tokens: input, completion_tokens: output } = plain.usage!;
    const { credit } = plain as Json;
    expect(credit).toBe(priceOf(GPT, { input, output }));
    expect(before - (await gateway.account()).balance).toBeCloseTo(credit, 6);
    const runner = openai.chat.completions.stream({
      model: GPT,
      messages,
      stream_options: { include_usage: true },
    });
    const streamed = await runner.finalChatCompletion();
    expect(streamed.choices[0]!.message.content).toBe(plain.choices[0]!.message.content);
    expect(streamed.usage).toMatchObject({ prompt_tokens: input, completion_tokens: output });
  });

  test("max tokens, stop, n and seed are heeded", async () => {
    const cut = await openai.chat.completions.create({ model: GPT, messages, max_completion_tokens: 3 });
    expect(cut.choices[0]!.finish_reason).toBe("length");
    expect(cut.usage!.completion_tokens).toBeLessThanOrEqual(3);
    const stopped = await openai.chat.completions.create({ model: KIMI, messages, stop: " sandbox" });
    expect(stopped.choices[0]!.message.content).toBe("This is the Switchyard");
    const three = await openai.chat.completions.create({ model: GPT, messages, n: 3 });
    expect(new Set(three.choices.map((choice) => choice.message.content)).size).toBe(3);
    const seeded = (seed: number): Promise<string | null> =>
      openai.chat.completions
        .create({ model: GPT, messages, seed })
        .then(({ choices }) => choices[0]!.message.content);
    expect(await seeded(1)).toBe(await seeded(1));
    expect(await seeded(1)).not.toBe(await seeded(2));
  });

  test("a tool is called with arguments of its schema, streamed too, and its result is answered", async () => {
    const tools: OpenAI.ChatCompletionTool[] = [
      { type: "function", function: { name: "get_weather", parameters: CITY } },
    ];
    const asking = [{ role: "user" as const, content: "What is the weather?" }];
    const called = await openai.chat.completions.create({ model: GPT, messages: asking, tools });
    expect(called.choices[0]!.finish_reason).toBe("tool_calls");
    const call = called.choices[0]!.message.tool_calls![0]! as Json;
    expectCity(JSON.parse(call.function.arguments));
    const streamed = await openai.chat.completions
      .stream({ model: GPT, messages: asking, tools })
      .finalChatCompletion();
    expect(streamed.choices[0]!.message.tool_calls![0]).toMatchObject({
      id: call.id,
      function: call.function,
    });
    const answered = await openai.chat.completions.create({
      model: GPT,
      messages: [
        ...asking,
        called.choices[0]!.message,
        { role: "tool", tool_call_id: call.id, content: "It is sunny." },
      ],
      tools,
    });
    expect(answered.choices[0]!.message.content).toContain("It is sunny.");
    const forced = await openai.chat.completions.create({
      model: GPT,
      messages,
      tools,
      tool_choice: { type: "function", function: { name: "get_weather" } },
    });
    expect(forced.choices[0]!.message.tool_calls).toHaveLength(1);
  });

  test("a structured output satisfies its schema", async () => {
    const answer = await openai.chat.completions.create({
      model: GPT,
      messages,
      response_format: { type: "json_schema", json_schema: { name: "city", schema: CITY, strict: true } },
    });
    expectCity(JSON.parse(answer.choices[0]!.message.content!));
    const any = await openai.chat.completions.create({
      model: GPT,
      messages: [{ role: "user", content: "Say hello in JSON." }],
      response_format: { type: "json_object" },
    });
    expect(JSON.parse(any.choices[0]!.message.content!)).toBeObject();
  });

  test("thinking comes with a signature, plain and streamed; back unchanged it is taken, changed it is a 400", async () => {
    const request = { model: HAIKU, messages, reasoning_effort: "high" as const };
    const plain = await openai.chat.completions.create(request);
    const message = plain.choices[0]!.message as Json;
    expect(message.reasoning_details).toHaveLength(1);
    expect(plain.usage!.completion_tokens_details!.reasoning_tokens).toBeGreaterThan(0);
    const streamed = await openai.chat.completions.stream(request).finalChatCompletion();
    expect((streamed.choices[0]!.message as Json).reasoning_details).toEqual(message.reasoning_details);
    const next = (details: Json[]): Promise<OpenAI.ChatCompletion> =>
      openai.chat.completions.create({
        ...request,
        messages: [
          ...messages,
          { ...message, reasoning_details: details },
          { role: "user", content: "More." },
        ],
      });
    expect((await next(message.reasoning_details)).choices[0]!.message.content).toMatch(SAYS_SO);
    for (const part of ["thinking", "signature"]) {
      const [detail] = message.reasoning_details;
      const error = await next([{ ...detail, [part]: changed(detail[part]) }]).catch((cause: Json) => cause);
      expect([part, error.status]).toEqual([part, 400]);
      expect(error.message).toContain("Invalid `signature` in `thinking` block");
    }
  });

  test("an image comes with its signature; back unchanged or without it is taken, changed it is a 400", async () => {
    const request = { model: IMAGES, messages, modalities: ["text", "image"] } as Json;
    const answer: Json = await openai.chat.completions.create(request);
    const [{ message }] = answer.choices;
    const { url } = message.images[0].image_url;
    expect(url).toMatch(/^data:image\/png;thought_signature=[\w-]+;base64,/);
    expect(rawImageSizeOf(url.slice(url.indexOf(",") + 1))).toEqual({ width: 256, height: 256 });
    // An image of 1K; the translated usage does not name it.
    const image = 1_120;
    const { prompt_tokens: input, completion_tokens: output } = answer.usage;
    expect(answer.credit).toBe(priceOf(IMAGES, { input, output: output - image, image }));
    const next = (link: string): Promise<number> =>
      openai.chat.completions
        .create({
          ...request,
          messages: [
            ...messages,
            { ...message, images: [{ type: "image_url", image_url: { url: link } }] },
            { role: "user", content: "Make it blue." },
          ],
        })
        .then(
          () => 200,
          (error: Json) => error.status,
        );
    expect(await next(url)).toBe(200);
    const [before, signature, after] = url.split(/(?<==)|(?=;base64)/);
    expect(await next(`${before}${changed(signature)}${after}`)).toBe(400);
    // It counts as another model's then, as it does with Google.
    expect(await next(url.replace(/;thought_signature=[\w-]+/, ""))).toBe(200);
  });
});

describe("messages by the Anthropic SDK", () => {
  const request = {
    model: HAIKU,
    max_tokens: 3_000,
    messages: [{ role: "user" as const, content: "Say hello." }],
  };

  test("plain and streamed are the same blocks, charged by the usage that they state", async () => {
    const plain = await anthropic.messages.create(request);
    expect(plain.content).toMatchObject([{ type: "text", text: expect.stringMatching(SAYS_SO) }]);
    const { input_tokens: input, output_tokens: output } = plain.usage;
    expect((plain as Json).credit).toBe(priceOf(HAIKU, { input, output }));
    const streamed = await anthropic.messages.stream(request).finalMessage();
    expect(streamed.content as Json).toEqual(plain.content);
    expect(streamed.usage).toMatchObject({ input_tokens: input, output_tokens: output });
    const cut = await anthropic.messages.create({ ...request, max_tokens: 4 });
    expect([cut.stop_reason, cut.usage.output_tokens]).toEqual(["max_tokens", 4]);
    const stopped = await anthropic.messages.create({ ...request, stop_sequences: ["never", "sandbox"] });
    expect(stopped).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "sandbox" });
  });

  test("tools, with thinking that goes round; thinking or signature changed is a 400", async () => {
    const thinking = { type: "enabled" as const, budget_tokens: 1_024 };
    const tools = [
      { name: "get_weather", input_schema: CITY },
      { name: "get_time", input_schema: CITY },
    ];
    const asking = [{ role: "user" as const, content: "What is the weather, and what time is it?" }];
    const plain = await anthropic.messages.create({ ...request, thinking, tools, messages: asking });
    const streamed = await anthropic.messages
      .stream({ ...request, thinking, tools, messages: asking })
      .finalMessage();
    expect(streamed.content as Json).toEqual(plain.content);
    expect(plain.stop_reason).toBe("tool_use");
    expect(plain.content.map(({ type }) => type)).toEqual(["thinking", "tool_use", "tool_use"]);
    const calls = plain.content.filter((block) => block.type === "tool_use");
    for (const { input } of calls) expectCity(input);
    const next = (content: Json[]): Promise<Anthropic.Message> =>
      anthropic.messages.create({
        ...request,
        thinking,
        tools,
        messages: [
          ...asking,
          { role: "assistant", content },
          {
            role: "user",
            content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "Twelve." })),
          },
        ],
      });
    expect(JSON.stringify((await next(plain.content)).content)).toContain("Twelve.");
    const [thought, ...rest] = plain.content as Json[];
    for (const part of ["thinking", "signature"]) {
      const error = await next([{ ...thought, [part]: changed(thought[part]) }, ...rest]).catch(
        (e: Json) => e,
      );
      expect([part, error.status]).toEqual([part, 400]);
      expect(error.message).toContain("messages.1.content.0: Invalid `signature` in `thinking` block");
    }
  });

  test("a structured output satisfies its schema", async () => {
    const answer = await anthropic.messages.create({
      ...request,
      output_config: { format: { type: "json_schema", schema: CITY } },
    });
    expectCity(JSON.parse((answer.content[0] as Json).text));
  });
});
