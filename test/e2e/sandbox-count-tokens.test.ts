import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createFakeClock } from "../gateway/fake-clock.ts";
import { type Json, startGateway, type TestGateway } from "../gateway/gateway.ts";
import { FLASH, HAIKU, IMAGE, PDF } from "./sandbox-answers.ts";

// The sandbox has the call that counts, as the vendors have it: what it counts is what it then charges.

let gateway: TestGateway;
beforeAll(async () => {
  // It is never too slow, however busy the machine is.
  gateway = await startGateway({ clock: createFakeClock() });
});
afterAll(() => gateway.close());

async function ask(path: string, body: object, headers: Record<string, string> = {}) {
  const response = await gateway.post(path, body, { headers });
  return {
    json: (await response.json()) as Json,
    from: response.headers.get("x-switchyard-provider"),
    isOwn: response.headers.get("x-switchyard-estimate") === "true",
  };
}

const text = "word ".repeat(300);
const tool = { name: "f", description: text, input_schema: { type: "object", properties: { a: {} } } };
const user = (content: unknown) => ({ role: "user", content });

describe("messages: what is counted is what is charged", () => {
  const requests: Readonly<Record<string, object>> = {
    "a word": { messages: [user("hi")] },
    "a system text": { system: text, messages: [user("hi")] },
    "tools, calls and results": {
      tools: [tool],
      messages: [
        user("hi"),
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "f", input: { a: text } }] },
        user([{ type: "tool_result", tool_use_id: "t", content: text }]),
      ],
    },
    "an image and a document": {
      messages: [
        user([
          { type: "image", source: { type: "base64", media_type: "image/png", data: IMAGE } },
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: PDF } },
        ]),
      ],
    },
  };
  for (const [name, request] of Object.entries(requests))
    test(name, async () => {
      const counted = await ask("/api/v1/messages/count_tokens", { model: HAIKU, ...request });
      const answered = await ask("/api/v1/messages", { model: HAIKU, max_tokens: 50, ...request });
      expect(counted).toMatchObject({ from: "sandbox", isOwn: false });
      expect(counted.json).toEqual({ input_tokens: answered.json.usage.input_tokens });
    });
});

describe("generateContent: what is counted is what is charged", () => {
  const contents = [
    { role: "user", parts: [{ text }, { inlineData: { mimeType: "image/png", data: IMAGE } }] },
  ];
  const whole = {
    contents,
    systemInstruction: { parts: [{ text }] },
    tools: [{ functionDeclarations: [{ name: "f", description: text }] }],
  };
  const forms: readonly (readonly [name: string, counted: object, asked: object])[] = [
    ["contents", { contents }, { contents }],
    ["a whole request", { generateContentRequest: { model: `models/${FLASH}`, ...whole } }, whole],
    ["the enterprise form", whole, whole],
  ];
  for (const [name, form, asked] of forms)
    test(name, async () => {
      const counted = await ask(`/api/v1/models/${FLASH}:countTokens`, form);
      const answered = await ask(`/api/v1/models/${FLASH}:generateContent`, asked);
      expect(counted).toMatchObject({ from: "sandbox", isOwn: false });
      const tokens = answered.json.usageMetadata.promptTokenCount;
      expect(counted.json).toEqual({
        totalTokens: tokens,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: tokens }],
      });
    });
});

test("an input that is longer than the context is counted: that is what is asked", async () => {
  const messages = [user("word ".repeat(400_000))];
  const { json, isOwn } = await ask("/api/v1/messages/count_tokens", { model: HAIKU, messages });
  expect([json.input_tokens > 400_000, isOwn]).toEqual([true, false]);
});

test("what is ordered of it fails, and is answered with our own count", async () => {
  const body = { model: HAIKU, messages: [user("hi")] };
  for (const order of ["fail=rate_limit", "fail=overloaded", "fail=moderation", "fail=timeout"]) {
    const counted = await ask("/api/v1/messages/count_tokens", body, { "x-sandbox": order });
    expect([order, counted.isOwn, counted.from]).toEqual([order, true, "sandbox"]);
    expect(counted.json.input_tokens).toBeGreaterThan(0);
  }
});

test("every language model is counted in both formats, by its own counter where it is of the format", async () => {
  const models = gateway.services.offer().catalog.models.filter(({ category }) => category === "language");
  expect(models.length).toBeGreaterThan(10);
  for (const { id, supportedProtocols } of models) {
    const said = await ask("/api/v1/messages/count_tokens", { model: id, messages: [user("hi")] });
    expect([id, said.json.input_tokens > 0, said.isOwn]).toEqual([
      id,
      true,
      !supportedProtocols.includes("compat_messages"),
    ]);
    const google = await ask(`/api/v1/models/${id}:countTokens`, { contents: [{ parts: [{ text: "hi" }] }] });
    expect([id, google.json.totalTokens > 0, google.isOwn]).toEqual([
      id,
      true,
      !supportedProtocols.includes("compat_generate_content"),
    ]);
  }
});
