import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import OpenAI from "openai";
import { startGateway, UPSTREAM_KEY, type Json, type TestGateway } from "../gateway/gateway.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatCompletion, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { strictChatCompletions } from "../upstream/strict.ts";
import { STRICT } from "../upstream/strict-profiles.ts";

// What goes in and comes out beside text, by the official SDK, unmodified: images, documents, schemas, thinking.

const MODEL = "openai/gpt-5.6-luna";
/** A model that puts out images and signed thinking, at a server that is only compatible. */
const PAINTER = "studio/painter";
const USAGE = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };
const PNG =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
const PDF = `data:application/pdf;base64,${btoa("%PDF-1.4\n%%EOF\n")}`;

let double: UpstreamDouble;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  double = await startUpstreamDouble();
  const model = {
    id: PAINTER,
    input_modalities: ["text", "image"],
    output_modalities: ["text", "image"],
    max_output: 4_000,
    prices: { input: 1, output: 2, image_output: 30 },
  };
  const studio = { base_url: `${double.url}/v1`, unknown_fields: "pass", models: [model] };
  gateway = await startGateway({
    openai: `${double.url}/v1`,
    settings: JSON.stringify({ providers: { studio } }),
  });
  client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: gateway.key, maxRetries: 0 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const strict = strictChatCompletions({ ...STRICT.openai, keys: [UPSTREAM_KEY], models: ["gpt-5.6-luna"] });
const says = (...words: string[]) => jsonAnswer(200, chatCompletion({ words, usage: USAGE }));

test("images and a PDF go in as they are", async () => {
  double.handle((request) => strict(request) ?? says("A dot."));
  const content: OpenAI.ChatCompletionContentPart[] = [
    { type: "text", text: "What is this?" },
    { type: "image_url", image_url: { url: PNG, detail: "low" } },
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
    { type: "file", file: { filename: "a.pdf", file_data: PDF } },
  ];
  const messages = [{ role: "user" as const, content }];
  const completion = await client.chat.completions.create({ model: MODEL, messages });
  expect(completion.choices[0]?.message.content).toBe("A dot.");
  expect((double.requests[0]!.json() as Json).messages).toEqual(messages);
});

test("structured output: the schema goes in, and the SDK's helper parses what comes out", async () => {
  double.handle((request) => strict(request) ?? says('{"city":', '"Oslo"}'));
  const schema = {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  };
  const response_format = {
    type: "json_schema" as const,
    json_schema: { name: "place", strict: true, schema },
  };
  const completion = await client.chat.completions.parse({
    model: MODEL,
    messages: [{ role: "user", content: "Where?" }],
    response_format,
  });
  expect(completion.choices[0]?.message.parsed).toMatchObject({ city: "Oslo" });
  expect((double.requests[0]!.json() as Json).response_format).toEqual(response_format);
});

test("a refusal of a structured output arrives as the SDK's refusal", async () => {
  const refused = chatCompletion({ words: [], usage: USAGE }) as Json;
  refused.choices[0].message = { role: "assistant", content: null, refusal: "I cannot." };
  double.handle(() => jsonAnswer(200, refused));
  const completion = await client.chat.completions.create({
    model: MODEL,
    messages: [{ role: "user", content: "Do." }],
  });
  expect(completion.choices[0]?.message).toMatchObject({ content: null, refusal: "I cannot." });
});

test("an image comes out, and goes back in the next turn byte for byte", async () => {
  const url = PNG.replace(";base64", ";thought_signature=QUJD-_;base64");
  const images = [{ type: "image_url", image_url: { url } }];
  const painted = chatCompletion({ words: ["Here."], usage: USAGE }) as Json;
  painted.choices[0].message.images = images;
  painted.usage = {
    prompt_tokens: 10,
    completion_tokens: 1_300,
    total_tokens: 1_310,
    completion_tokens_details: { image_tokens: 1_290 },
  };
  double.enqueue(jsonAnswer(200, painted), says("Done."));
  const asked = { role: "user" as const, content: "Paint." };
  const body = { model: PAINTER, modalities: ["text", "image"], messages: [asked] };
  const completion = await client.chat.completions.create(
    body as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming,
  );
  const { message } = completion.choices[0]!;
  expect(message).toHaveProperty("images", images);
  // 10 × 1 + 10 × 2 + 1,290 × 30 USD a million.
  expect(completion).toHaveProperty("credit", 387.3);
  const messages = [asked, message, { role: "user" as const, content: "Bluer." }];
  await client.chat.completions.create({ model: PAINTER, messages });
  expect(double.requests[1]?.bodyText).toContain(JSON.stringify(url));
});

test("an image that is asked for in a stream is a 400 that names stream", async () => {
  const body = {
    model: PAINTER,
    modalities: ["text", "image"],
    messages: [{ role: "user", content: "Paint." }],
    stream: true,
  };
  const refused = await client.chat.completions
    .create(body as unknown as OpenAI.ChatCompletionCreateParamsStreaming)
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ status: 400, param: "stream" });
});

test("signed thinking: whole in the helper's final message, and sent back with its signature", async () => {
  const details = [{ type: "thinking", thinking: "hm, well", signature: "RVhBQ1QrLz0=" }];
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "up", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const body = [
    chunk({ role: "assistant", content: "" }),
    chunk({ reasoning_content: "hm, " }),
    chunk({ reasoning_content: "well" }),
    chunk({ content: "4" }),
    chunk({ reasoning_details: details }),
    chunk({}, "stop"),
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "up", choices: [], usage: USAGE })}\n\n`,
    "data: [DONE]\n\n",
  ].join("");
  double.enqueue(
    { headers: [["content-type", "text/event-stream"]], body },
    chatStreamAnswer({ words: ["Yes."], usage: USAGE }),
  );
  const asked = { role: "user" as const, content: "2 + 2?" };
  const first = await client.chat.completions
    .stream({ model: PAINTER, messages: [asked] })
    .finalChatCompletion();
  const { message } = first.choices[0]!;
  expect(message).toMatchObject({ content: "4", reasoning_details: details });
  const messages = [asked, message, { role: "user" as const, content: "Sure?" }];
  await client.chat.completions.stream({ model: PAINTER, messages }).finalChatCompletion();
  expect(double.requests[1]?.bodyText).toContain(JSON.stringify(details));
});
