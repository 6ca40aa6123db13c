import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Content, FunctionCallingConfigMode, GoogleGenAI, Modality, type Part } from "@google/genai";
import { rawImageSizeOf } from "../../src/core/media/image-size.ts";
import { LANGCHAIN_SIGNATURE } from "../../src/providers/sandbox/seal.ts";
import type { Json, TestGateway } from "../gateway/gateway.ts";
import {
  changed,
  CITY,
  expectCity,
  FLASH,
  PDF,
  IMAGE,
  IMAGES,
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

  test("an image of the asked shape comes in a chat that keeps its signature", async () => {
    const chat = google.chats.create({
      model: IMAGES,
      config: {
        responseModalities: [Modality.TEXT, Modality.IMAGE],
        imageConfig: { aspectRatio: "16:9" },
      },
    });
    const first = await chat.sendMessage({ message: "Draw a boat." });
    const image = first.candidates![0]!.content!.parts!.find((part) => part.inlineData !== undefined)!;
    expect(rawImageSizeOf(image.inlineData!.data!)).toEqual({ width: 256, height: 144 });
    expect(image.thoughtSignature).toBeString();
    expect((await chat.sendMessage({ message: "Make it blue." })).text).toMatch(SAYS_SO);
  });

  test("an image comes in a stream, whole and signed, and goes back in the next turn", async () => {
    const chat = google.chats.create({ model: IMAGES });
    const parts: Part[] = [];
    for await (const chunk of await chat.sendMessageStream({ message: "Draw a boat." }))
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    const [image, ...others] = parts.filter(({ inlineData }) => inlineData !== undefined);
    expect(others).toEqual([]);
    expect(rawImageSizeOf(image!.inlineData!.data!)).toEqual({ width: 256, height: 256 });
    expect(image!.thoughtSignature).toBeString();
    const next = await chat.sendMessage({ message: "Make it blue." });
    expect(next.candidates![0]!.content!.parts![0]!.text).toMatch(SAYS_SO);
  });

  test("chats are streamed, and keep what was said with its signatures", async () => {
    const chat = google.chats.create({
      model: FLASH,
      config: { thinkingConfig: { includeThoughts: true } },
    });
    const say = async (message: string): Promise<string> => {
      let text = "";
      for await (const chunk of await chat.sendMessageStream({ message })) text += chunk.text ?? "";
      return text;
    };
    expect(await say("Say hello.")).toMatch(SAYS_SO);
    expect(await say("And good bye.")).toContain("And good bye.");
    // The SDK keeps each chunk as a turn of its own.
    const roles = chat.getHistory().map(({ role }) => role);
    expect(roles.filter((role, i) => role !== roles[i - 1])).toEqual(["user", "model", "user", "model"]);
    const signed = chat.getHistory().flatMap(({ parts }) => parts!.filter((part) => part.thoughtSignature));
    expect(signed).toHaveLength(2);
  });

  for (const streamed of [false, true]) {
    test(`two functions at once go round with their thinking${streamed ? ", streamed" : ""}`, async () => {
      const config = {
        thinkingConfig: { includeThoughts: true },
        tools: [
          {
            functionDeclarations: ["get_weather", "get_time"].map((name) => ({
              name,
              parametersJsonSchema: CITY,
            })),
          },
        ],
      };
      const partsOf = async (contents: Content[]): Promise<Part[]> => {
        const request = { model: FLASH, contents, config };
        const parts: Part[] = [];
        if (streamed)
          for await (const chunk of await google.models.generateContentStream(request))
            parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
        else parts.push(...(await google.models.generateContent(request)).candidates![0]!.content!.parts!);
        return parts;
      };
      const asking: Content = {
        role: "user",
        parts: [{ text: "What is the weather, and what time is it?" }],
      };
      const parts = await partsOf([asking]);
      const calls = parts.flatMap(({ functionCall }) => functionCall ?? []);
      expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
      for (const { args } of calls) expectCity(args);
      expect(parts.some(({ thought }) => thought === true)).toBe(true);
      const results = calls.map(({ id, name }, i) => ({
        functionResponse: { id: id!, name: name!, response: { result: `Result ${i}.` } },
      }));
      const answer = await partsOf([asking, { role: "model", parts }, { role: "user", parts: results }]);
      const text = answer.map((part) => part.text ?? "").join("");
      expect(text).toContain("Result 0.");
      expect(text).toContain("Result 1.");
    });
  }

  test("calls of a streamed chat, each kept in a turn of its own, go back and are answered", async () => {
    const declared = ["get_weather", "get_time"].map((name) => ({ name, parametersJsonSchema: CITY }));
    const chat = google.chats.create({
      model: FLASH,
      config: { thinkingConfig: { includeThoughts: true }, tools: [{ functionDeclarations: declared }] },
    });
    const say = async (message: string | Part[]): Promise<readonly Part[]> => {
      const parts: Part[] = [];
      for await (const chunk of await chat.sendMessageStream({ message }))
        parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
      return parts;
    };
    const called = await say("What is the weather, and what time is it?");
    const calls = called.flatMap(({ functionCall }) => functionCall ?? []);
    expect(calls.map(({ name }) => name)).toEqual(["get_weather", "get_time"]);
    const kept = chat
      .getHistory()
      .filter(({ parts }) => parts!.some((part) => part.functionCall !== undefined));
    expect(kept.map(({ role, parts }) => [role, parts!.length])).toEqual([
      ["model", 1],
      ["model", 1],
    ]);
    const answer = await say(
      calls.map(({ id, name }, i) => ({
        functionResponse: { id: id!, name: name!, response: { result: `Result ${i}.` } },
      })),
    );
    const text = answer.map((part) => part.text ?? "").join("");
    expect(text).toContain("Result 0.");
    expect(text).toContain("Result 1.");
    expect((await say("And now?")).length).toBePositive();
  });

  test("signatures that stand for none are taken: the two that Google names, and LangChain's constant", async () => {
    const answerTo = (thoughtSignature: string): Promise<Json> =>
      google.models
        .generateContent({
          model: FLASH,
          contents: [
            { role: "user", parts: [{ text: "hi" }] },
            { role: "model", parts: [{ functionCall: { name: "f", args: {} }, thoughtSignature }] },
            { role: "user", parts: [{ functionResponse: { name: "f", response: { a: 1 } } }] },
          ],
        })
        .catch((error: Json) => error);
    for (const name of ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"])
      for (const signature of [name, btoa(name)]) expect((await answerTo(signature)).text).toMatch(SAYS_SO);
    expect((await answerTo(LANGCHAIN_SIGNATURE)).text).toMatch(SAYS_SO);
    expect((await answerTo(changed(LANGCHAIN_SIGNATURE))).status).toBe(400);
  });

  test("an image and a PDF go in, and are counted", async () => {
    const inputOf = async (...media: Part[]): Promise<number> => {
      const contents = [{ role: "user", parts: [{ text: "Say hello." }, ...media] }];
      const answer = await google.models.generateContent({ model: FLASH, contents });
      expect(answer.text).toMatch(SAYS_SO);
      return answer.usageMetadata!.promptTokenCount!;
    };
    const bare = await inputOf();
    expect(await inputOf({ inlineData: { mimeType: "image/png", data: IMAGE } })).toBeGreaterThan(bare);
    expect(await inputOf({ inlineData: { mimeType: "application/pdf", data: PDF } })).toBeGreaterThan(bare);
  });

  test("the SDK leaves a stream, which is charged as far as it was delivered", async () => {
    const before = (await gateway.account()).balance;
    const controller = new AbortController();
    const stream = await google.models.generateContentStream({
      model: FLASH,
      contents: "Say hello.",
      config: {
        abortSignal: controller.signal,
        httpOptions: { headers: { "x-sandbox": "tokens=50000; speed=20" } },
      },
    });
    const read = async (): Promise<void> => {
      for await (const chunk of stream) if (chunk.text !== undefined) controller.abort();
    };
    expect(await read().catch((error: Json) => error.name)).toBe("AbortError");
    await gateway.settled();
    const paid = before - (await gateway.account()).balance;
    expect(paid).toBeGreaterThan(0);
    expect(paid).toBeLessThan(priceOf(FLASH, { input: 1_000, output: 5_000 }));
  });

  test("a stream that breaks raises", async () => {
    const stream = await google.models.generateContentStream({
      model: FLASH,
      contents: "Say hello.",
      config: { httpOptions: { headers: { "x-sandbox": "fail=reset_mid_stream; tokens=200" } } },
    });
    const read = async (): Promise<string> => {
      for await (const _chunk of stream);
      return "It ended.";
    };
    expect(await read().catch((error: unknown) => error)).toBeInstanceOf(Error);
    await gateway.settled();
  });
});
