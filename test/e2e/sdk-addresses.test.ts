import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI, type HttpOptions } from "@google/genai";
import OpenAI from "openai";
import type { TestGateway } from "../gateway/gateway.ts";
import { FLASH, GPT, HAIKU, SAYS_SO, startSandbox } from "./sandbox-answers.ts";

// The official SDKs, unmodified, with the base addresses that people give them out of habit.

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startSandbox();
});
afterAll(() => gateway.close());

const BASES = [
  "",
  "/",
  "/v1",
  "/v1/",
  "/v1beta",
  "/api",
  "/api/",
  "/api/v1",
  "/api/v1/",
  "/api/v1beta",
  "/api/v1/v1",
];
const messages = [{ role: "user" as const, content: "Say hello." }];

describe("the openai SDK is served, plain, streamed and with the models, from the base address", () => {
  for (const base of BASES) {
    test(base === "" ? "of the host" : base, async () => {
      const client = new OpenAI({ baseURL: `${gateway.url}${base}`, apiKey: gateway.key, maxRetries: 0 });
      const plain = await client.chat.completions.create({ model: GPT, messages });
      expect(plain.choices[0]?.message.content).toMatch(SAYS_SO);
      const stream = await client.chat.completions.create({ model: GPT, messages, stream: true });
      let text = "";
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? "";
      expect(text).toMatch(SAYS_SO);
      expect((await client.models.retrieve(GPT)).id).toBe(GPT);
      expect((await client.models.list()).data.map(({ id }) => id)).toContain(GPT);
    });
  }
});

describe("the SDK of messages is served, plain, streamed and counted, from the base address", () => {
  for (const base of BASES) {
    test(base === "" ? "of the host" : base, async () => {
      const client = new Anthropic({ baseURL: `${gateway.url}${base}`, apiKey: gateway.key, maxRetries: 0 });
      const body = { model: HAIKU, max_tokens: 100, messages };
      for (const message of [
        await client.messages.create(body),
        await client.messages.stream(body).finalMessage(),
      ])
        expect(message.content[0]).toMatchObject({ type: "text", text: expect.stringMatching(SAYS_SO) });
      const { max_tokens: _, ...counted } = body;
      expect((await client.messages.countTokens(counted)).input_tokens).toBeGreaterThan(5);
    });
  }
});

describe("@google/genai is served, plain, streamed and counted, with", () => {
  const versions: readonly HttpOptions[] = [{}, { apiVersion: "v1" }, { apiVersion: "" }];
  for (const base of BASES) {
    for (const options of versions) {
      test(`${JSON.stringify(options)} from the base address ${base === "" ? "of the host" : base}`, async () => {
        const httpOptions = { baseUrl: `${gateway.url}${base}`, ...options };
        const client = new GoogleGenAI({ apiKey: gateway.key, httpOptions });
        const ask = { model: FLASH, contents: "Say hello." };
        expect((await client.models.generateContent(ask)).text).toMatch(SAYS_SO);
        let text = "";
        for await (const chunk of await client.models.generateContentStream(ask)) text += chunk.text ?? "";
        expect(text).toMatch(SAYS_SO);
        expect((await client.models.countTokens(ask)).totalTokens).toBeGreaterThan(5);
      });
    }
  }
});
