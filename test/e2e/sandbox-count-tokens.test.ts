import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { ProtocolId } from "../../src/core/model.ts";
import { waysTo } from "../../src/gateway/language/admit.ts";
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

/** The calls that count, and what each says. */
const COUNTS: Readonly<
  Record<string, { path(id: string): string; body(id: string): object; countIn(answer: Json): number }>
> = {
  compat_messages: {
    path: () => "/api/v1/messages/count_tokens",
    body: (model) => ({ model, messages: [user("hi")] }),
    countIn: ({ input_tokens: count, ...rest }) => (Object.keys(rest).length === 0 ? count : Number.NaN),
  },
  compat_generate_content: {
    path: (id) => `/api/v1/models/${id}:countTokens`,
    body: () => ({ contents: [{ parts: [{ text: "hi" }] }] }),
    countIn: ({ totalTokens, promptTokensDetails: [{ tokenCount }] }) =>
      totalTokens === tokenCount ? totalTokens : Number.NaN,
  },
  compat_responses: {
    path: () => "/api/v1/responses/input_tokens",
    body: (model) => ({ model, input: "hi" }),
    countIn: ({ object, input_tokens: count }) => (object === "response.input_tokens" ? count : Number.NaN),
  },
};

for (const [format, { path, body, countIn }] of Object.entries(COUNTS))
  test(`every language model is counted in ${format}, by its own counter where it has one, else by an estimate that says so`, async () => {
    const offer = gateway.services.offer();
    const models = offer.catalog.models.filter(({ category }) => category === "language");
    expect(models).toHaveLength(13);
    for (const model of models) {
      const { id } = model;
      const response = await gateway.post(path(id), body(id));
      const count = countIn((await response.json()) as Json);
      expect([id, response.status, count > 0]).toEqual([id, 200, true]);
      const isOwn = !waysTo(offer, model, format as ProtocolId).some(({ spoken }) => spoken.id === format);
      const { headers } = response;
      expect([id, headers.get("x-switchyard-estimate")]).toEqual([id, isOwn ? "true" : null]);
      expect([id, headers.get("warning")?.includes("the count is an estimate") ?? false]).toEqual([
        id,
        isOwn,
      ]);
    }
  });
