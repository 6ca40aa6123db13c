import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { type Json, startGateway, streamEvents, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { chargedFor } from "../gateway/spent.ts";
import { type Answer, type Framing, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStreamAnswer, chatStreamEvents } from "../upstream/chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { gateAt, withoutLastChunk } from "../upstream/faults.ts";
import { createGate } from "../upstream/gate.ts";
import { sse } from "../upstream/sse-bytes.ts";

// Good answers that look odd, and odd ones that look good, over real sockets: relayed and translated, plain and streamed.

let double: UpstreamDouble;
let gateway: TestGateway;

beforeAll(async () => {
  double = await startUpstreamDouble({ sleep: async () => undefined });
  const provider = (protocol: string, path: string, dialect: string, model: string): Json => ({
    protocol,
    base_url: `${double.url}${path}`,
    api_key: UPSTREAM_KEY,
    dialect,
    models: [{ id: model, upstream_id: "m", max_output: 8_000, prices: { input: 1, output: 5 } }],
  });
  const providers = {
    gemini: provider("generate_content", "", "native", "a/gemini"),
    native: provider("chat_completions", "/v1", "native", "a/native"),
    azure: provider("chat_completions", "/v1", "compatible", "a/compatible"),
  };
  gateway = await startGateway({ settings: JSON.stringify({ providers }), credits: 100_000 });
});
afterAll(async () => {
  await gateway.close();
  await double.close();
});
beforeEach(() => double.reset());

const askGemini = (stream: boolean): Promise<Response> =>
  gateway.post(`/api/v1/models/a/gemini:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, {
    contents: [{ role: "user", parts: [{ text: "Say hello." }] }],
    generationConfig: { candidateCount: 2, maxOutputTokens: 64 },
  });

const askChat = (model: string, stream: boolean, more: object = {}): Promise<Response> =>
  gateway.chat({
    model,
    stream,
    max_tokens: 64,
    messages: [{ role: "user", content: "Say hello." }],
    ...more,
  });

describe("one candidate of Gemini where two were asked for", () => {
  const usageMetadata = { promptTokenCount: 10, candidatesTokenCount: 4, totalTokenCount: 14 };
  const CREDITS = 0.3;
  const candidate = (text: string, more: object = {}): Json => ({
    candidates: [{ content: { role: "model", parts: [{ text }] }, ...more, index: 0 }],
    usageMetadata,
    responseId: "r1",
  });
  const chunks = [candidate("Hel"), candidate("lo.", { finishReason: "STOP" })];
  const plain = candidate("Hello.", { finishReason: "STOP" });
  const answerOf = (stream: boolean, framing: Framing = "chunked"): Answer =>
    stream ? { ...sseAnswer(sse(chunks)), framing } : jsonAnswer(200, plain);

  for (const stream of [false, true]) {
    test(`is delivered and charged, ${stream ? "streamed" : "plain"}, relayed`, async () => {
      double.handle(() => answerOf(stream));
      const { status, text, credits } = await chargedFor(gateway, () => askGemini(stream));
      expect([status, credits]).toEqual([200, CREDITS]);
      const all: Json[] = stream ? streamEvents(text) : [JSON.parse(text)];
      expect(all.map(({ candidates }) => candidates[0].content.parts[0].text).join("")).toBe("Hello.");
      expect(all.at(-1)).toMatchObject({ candidates: [{ finishReason: "STOP" }], credit: CREDITS });
    });

    test(`is delivered and charged, ${stream ? "streamed" : "plain"}, translated`, async () => {
      double.handle(() => answerOf(stream));
      const { status, text, credits } = await chargedFor(gateway, () =>
        askChat("a/gemini", stream, { n: 2 }),
      );
      expect(double.requests[0]?.json()).toMatchObject({ generationConfig: { candidateCount: 2 } });
      expect([status, credits]).toEqual([200, CREDITS]);
      const all: Json[] = stream ? streamEvents(text).slice(0, -1) : [JSON.parse(text)];
      const choices: Json[] = all.flatMap((found) => found.choices);
      expect(choices.map(({ delta, message }) => (delta ?? message).content ?? "").join("")).toBe("Hello.");
      expect(choices.at(-1)).toMatchObject({ index: 0, finish_reason: "stop" });
      expect(all.at(-1).credit).toBe(CREDITS);
      if (stream) expect(streamEvents(text).at(-1)).toBe("[DONE]");
    });
  }

  test("is cut off in a stream whose framing does not tell the end", async () => {
    double.handle(() => answerOf(true, "close"));
    const relayed = streamEvents((await chargedFor(gateway, () => askGemini(true))).text);
    expect(relayed.at(-1)).toHaveProperty("error.code", 502);
    expect(JSON.stringify(relayed)).not.toContain("finishReason");
    const translated = streamEvents(
      (await chargedFor(gateway, () => askChat("a/gemini", true, { n: 2 }))).text,
    );
    expect(translated.at(-2)).toHaveProperty("error.type", "upstream_error");
  });

  test("is cut off in a stream whose last chunk did not come", async () => {
    const body = sse(chunks);
    const gate = createGate();
    double.handle(() => gateAt(withoutLastChunk(sseAnswer(body)), body.length, gate));
    const response = await askGemini(true);
    let text = "";
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      // All that is sent has come by then, so that only the break is left.
      if (text.includes("Hel")) gate.release();
    }
    expect(streamEvents(text).at(-1)).toHaveProperty("error.code", 502);
    expect(text).not.toContain("finishReason");
  });
});

describe("an empty answer without a finish reason", () => {
  for (const model of ["a/native", "a/compatible"]) {
    for (const stream of [false, true]) {
      test(`is an error that costs nothing, ${stream ? "streamed" : "plain"}, of ${model}`, async () => {
        const form = { words: [""], finishReason: null };
        double.handle(() => (stream ? chatStreamAnswer(form) : chatAnswer(form)));
        const { status, text, credits } = await chargedFor(gateway, () => askChat(model, stream));
        expect([status, JSON.parse(text).error.type, credits]).toEqual([502, "upstream_error", 0]);
      });
    }
  }
});

describe("a first chunk without a name", () => {
  const filters = {
    id: "",
    created: 0,
    model: "",
    object: "",
    choices: [],
    prompt_filter_results: [{ prompt_index: 0, content_filter_results: {} }],
  };
  for (const model of ["a/native", "a/compatible"]) {
    test(`does not name our chunks, of ${model}`, async () => {
      double.handle(() =>
        sseAnswer(sse([filters, ...chatStreamEvents({ id: "chatcmpl-real", created: 77 })])),
      );
      const { text } = await chargedFor(gateway, () => askChat(model, true));
      const [first, ...named] = streamEvents(text).slice(0, -1);
      expect(first.prompt_filter_results).toHaveLength(1);
      expect(new Set(named.map(({ id, created }) => `${id} ${created}`))).toEqual(
        new Set(["chatcmpl-real 77"]),
      );
      expect(named.at(-1)).toHaveProperty("credit");
    });
  }
});
