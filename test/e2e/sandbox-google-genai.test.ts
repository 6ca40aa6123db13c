import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Content, FunctionCallingConfigMode, GoogleGenAI, Modality } from "@google/genai";
import { rawImageSizeOf } from "../../src/core/image-size.ts";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import {
  changed,
  CITY,
  expectCity,
  FLASH,
  PICTURES,
  priceOf,
  SAYS_SO,
  startSandbox,
} from "./sandbox-answers.ts";

let gateway: TestGateway;
let google: GoogleGenAI;

beforeAll(async () => {
  gateway = await startSandbox();
  google = new GoogleGenAI({ apiKey: gateway.key, httpOptions: { baseUrl: `${gateway.url}/api` } });
});
afterAll(() => gateway.close());

describe("generateContent by Google's SDK", () => {
  test("plain and streamed are the same words, charged by the usage that they state", async () => {
    const request = {
      model: FLASH,
      contents: "Say hello.",
      config: { thinkingConfig: { includeThoughts: true } },
    };
    const plain = await google.models.generateContent(request);
    expect(plain.text).toMatch(SAYS_SO);
    expect(plain.candidates![0]!.content!.parts![0]!.thought).toBe(true);
    const usage = plain.usageMetadata!;
    const output = usage.candidatesTokenCount! + usage.thoughtsTokenCount!;
    const raw = await gateway.post(`/api/v1/models/${FLASH}:generateContent`, {
      contents: [{ parts: [{ text: "Say hello." }], role: "user" }],
      generationConfig: { thinkingConfig: { includeThoughts: true } },
    });
    expect(((await raw.json()) as Json).credit).toBe(
      priceOf(FLASH, { input: usage.promptTokenCount!, output }),
    );
    let text = "";
    let last: Json;
    for await (const chunk of await google.models.generateContentStream(request)) {
      text += chunk.text ?? "";
      last = chunk;
    }
    expect(text).toBe(plain.text!);
    expect(last.usageMetadata).toMatchObject({ totalTokenCount: usage.totalTokenCount });
    const cut = await google.models.generateContent({
      ...request,
      config: { maxOutputTokens: 4, candidateCount: 2 },
    });
    expect(cut.candidates!.map(({ finishReason }) => finishReason as string)).toEqual([
      "MAX_TOKENS",
      "MAX_TOKENS",
    ]);
  });

  test("functions go round with their signatures; changed or missing it is a 400", async () => {
    const config = {
      tools: [{ functionDeclarations: [{ name: "get_weather", parametersJsonSchema: CITY }] }],
      toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } },
    };
    const asking: Content = { role: "user", parts: [{ text: "What is the weather?" }] };
    const called = await google.models.generateContent({ model: FLASH, contents: [asking], config });
    const [part] = called.candidates![0]!.content!.parts!;
    expectCity(part!.functionCall!.args);
    const next = (signed: object): Promise<Json> =>
      google.models
        .generateContent({
          model: FLASH,
          contents: [
            asking,
            { role: "model", parts: [{ functionCall: part!.functionCall!, ...signed }] },
            {
              role: "user",
              parts: [{ functionResponse: { name: "get_weather", response: { sky: "clear as glass" } } }],
            },
          ],
          config,
        })
        .catch((error: Json) => error);
    const { thoughtSignature } = part!;
    expect((await next({ thoughtSignature })).text).toContain("clear as glass");
    const corrupted = await next({ thoughtSignature: changed(thoughtSignature!) });
    expect([corrupted.status, corrupted.message]).toEqual([
      400,
      expect.stringContaining("Corrupted thought signature"),
    ]);
    const missing = await next({});
    expect([missing.status, missing.message]).toEqual([
      400,
      expect.stringContaining("missing a `thought_signature`"),
    ]);
  });

  test("a structured output satisfies its schema, in either dialect", async () => {
    const json = await google.models.generateContent({
      model: FLASH,
      contents: "x",
      config: { responseMimeType: "application/json", responseJsonSchema: CITY },
    });
    expectCity(JSON.parse(json.text!));
    const openapi = await google.models.generateContent({
      model: FLASH,
      contents: "x",
      config: {
        responseMimeType: "application/json",
        responseSchema: { type: "ARRAY", items: { type: "INTEGER" }, minItems: "3" },
      },
    });
    expect(JSON.parse(openapi.text!).length).toBeGreaterThanOrEqual(3);
  });

  test("a picture of the asked shape comes in a chat that keeps its signature", async () => {
    const chat = google.chats.create({
      model: PICTURES,
      config: {
        responseModalities: [Modality.TEXT, Modality.IMAGE],
        imageConfig: { aspectRatio: "16:9" },
      },
    });
    const first = await chat.sendMessage({ message: "Draw a boat." });
    const picture = first.candidates![0]!.content!.parts!.find((part) => part.inlineData !== undefined)!;
    expect(rawImageSizeOf(picture.inlineData!.data!)).toEqual({ width: 96, height: 54 });
    expect(picture.thoughtSignature).toBeString();
    expect((await chat.sendMessage({ message: "Make it blue." })).text).toMatch(SAYS_SO);
  });
});
